import { Badge } from '@mantine/core'
import { useTranslation } from 'react-i18next'

export const invoiceStatuses = ['open', 'paid', 'void', 'uncollectible', 'draft'] as const

const colors: Readonly<Record<string, string>> = {
  open: 'orange.9',
  paid: 'green.9',
  uncollectible: 'red.9',
}

export const InvoiceStatus = ({ status }: { status: string }) => {
  const { t } = useTranslation()
  return (
    <Badge color={colors[status] ?? 'gray.7'}>{t(`money.invoice.${status}`, { defaultValue: status })}</Badge>
  )
}
