import { Badge } from '@mantine/core'
import { useTranslation } from 'react-i18next'

const colors: Readonly<Record<string, string>> = {
  completed: 'green',
  failed: 'red',
  pending: 'orange',
}

export const TransactionStatus = ({ status }: { status: string }) => {
  const { t } = useTranslation()
  return (
    <Badge color={colors[status] ?? 'gray'}>
      {t(`money.transaction.${status}`, { defaultValue: status })}
    </Badge>
  )
}
