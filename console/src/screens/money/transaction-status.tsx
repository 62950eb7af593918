import { Badge } from '@mantine/core'
import { useTranslation } from 'react-i18next'

const colors: Readonly<Record<string, string>> = {
  completed: 'green.9',
  failed: 'red.9',
  pending: 'orange.9',
}

export const TransactionStatus = ({ status }: { status: string }) => {
  const { t } = useTranslation()
  return (
    <Badge color={colors[status] ?? 'gray.7'}>
      {t(`money.transaction.${status}`, { defaultValue: status })}
    </Badge>
  )
}
