import { listInvoices } from '@crosspoint/client'
import { Group, Select } from '@mantine/core'
import { ReceiptText } from 'lucide-react'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { usePlace, useTo } from '../../frame/place.tsx'
import { listOf } from '../../lib/list-source.ts'
import { showDay } from '../../lib/times.ts'
import { Empty } from '../../parts/empty.tsx'
import { ToScreen } from '../../parts/link.tsx'
import { type Column, RowList } from '../../parts/row-list.tsx'
import { Screen } from '../../parts/screen.tsx'
import { Amount } from './amount.tsx'
import { InvoiceStatus, invoiceStatuses } from './invoice-status.tsx'

interface InvoiceRow {
  id: string
  number?: string
  status: string
  period: { from: number; to: number }
  total: number
  currency: string
  due: number
}

const useColumns = (): readonly Column<InvoiceRow>[] => {
  const { t } = useTranslation()
  const to = useTo()
  const { timezone } = usePlace()
  return [
    {
      id: 'number',
      title: t('money.invoice.number'),
      show: ({ id, number }) => (
        <ToScreen to={to(`money/invoices/${id}`)}>{number ?? t('money.invoice.draft')}</ToScreen>
      ),
    },
    { id: 'status', title: t('money.status'), show: ({ status }) => <InvoiceStatus status={status} /> },
    {
      id: 'month',
      title: t('money.invoice.period'),
      isExtra: true,
      show: ({ period }) => `${showDay(period.from, 'UTC')} – ${showDay(period.to, 'UTC')}`,
    },
    { id: 'due', title: t('money.invoice.due'), isExtra: true, show: ({ due }) => showDay(due, timezone) },
    {
      id: 'total',
      title: t('charges.total'),
      isNumber: true,
      show: ({ total, currency }) => <Amount amount={total} currency={currency} />,
    },
  ]
}

/** The invoices of an account, newest first. */
export const InvoiceList = () => {
  const { t } = useTranslation()
  const { accountId } = usePlace()
  const [status, setStatus] = useState<string | null>(null)
  const columns = useColumns()
  const path = { account_id: accountId }
  const asked = status === null ? {} : { status }
  return (
    <Screen title={t('money.part.invoices')}>
      <Group>
        <Select
          aria-label={t('money.status')}
          placeholder={t('money.invoice.any')}
          data={invoiceStatuses.map((value) => ({ value, label: t(`money.invoice.${value}`) }))}
          value={status}
          onChange={setStatus}
          clearable
          clearButtonProps={{ 'aria-label': t('money.invoice.any') }}
        />
      </Group>
      <RowList
        label={t('money.part.invoices')}
        queryKey={['invoice', accountId, status]}
        list={listOf(listInvoices, { path, query: asked })}
        order={{ by: 'month', descending: true }}
        columns={columns}
        rowKey={({ id }) => id}
        empty={<Empty Icon={ReceiptText} text={t('money.invoice.none')} />}
      />
    </Screen>
  )
}
