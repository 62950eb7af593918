import { Group, Text } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { useTo } from '../../frame/place.tsx'
import { ToScreen } from '../../parts/link.tsx'

/** A sentence about trunks, and the way to the number of calls that they may have at once. */
export const LimitsLine = ({ children }: { children: string }) => {
  const { t } = useTranslation()
  const to = useTo()
  return (
    <Group gap="md" fz="sm">
      <Text size="sm" c="dimmed">
        {children}
      </Text>
      <ToScreen to={to('limits')}>{t('trunks.toLimits')}</ToScreen>
    </Group>
  )
}
