import { Alert, Button, Group, Text } from '@mantine/core'
import { Drama } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { endActing, isActing } from '../lib/acting.ts'
import { crosspoint } from '../lib/api.ts'

/** Says that one acts as another user, and leads back. */
export const ActingNote = () => {
  const { t } = useTranslation()
  if (!isActing()) return null
  return (
    <Alert color="orange" icon={<Drama aria-hidden />} mb="md">
      <Group justify="space-between">
        <Text size="sm">{t('frame.acting', { account: crosspoint.session()?.login.account_name })}</Text>
        <Button size="xs" variant="default" onClick={() => void endActing()}>
          {t('frame.endActing')}
        </Button>
      </Group>
    </Alert>
  )
}
