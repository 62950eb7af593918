import { Badge } from '@mantine/core'
import { useTranslation } from 'react-i18next'

export const invoiceStatuses = ['open', 'paid', 'void', 'uncollectible', 'draft'] as const

const colors: Readonly<Record<string, string>> = {
  open: 'orange',
  paid: 'green',
  uncollectible: 'red',
}

export const InvoiceStatus = ({ status }: { status: string }) => {
  const { t } = useTranslation()
  return (
    <Badge color={colors[status] ?? 'gray'}>{t(`money.invoice.${status}`, { defaultValue: status })}</Badge>
  )
}
