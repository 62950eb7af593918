import { Badge } from '@mantine/core'
import { useTranslation } from 'react-i18next'

/** In which numbers of an account may be. */
export const ownedStates = ['in_service', 'reserved', 'port_in', 'port_out', 'released', 'aging'] as const

const colors: Readonly<Record<string, string>> = {
  in_service: 'green',
  reserved: 'blue',
  port_in: 'violet.9',
  port_out: 'violet.9',
  available: 'gray',
}

export const StateBadge = ({ state }: { state: string }) => {
  const { t } = useTranslation()
  return (
    <Badge color={colors[state] ?? 'gray'}>{t(`numbers.states.${state}`, { defaultValue: state })}</Badge>
  )
}
