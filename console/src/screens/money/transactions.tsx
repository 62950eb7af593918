import { listTransactions } from '@crosspoint/client'
import { Group } from '@mantine/core'
import { ReceiptText } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { usePlace, useTo } from '../../frame/place.tsx'
import { listOf } from '../../lib/list-source.ts'
import { showTime } from '../../lib/times.ts'
import { Empty } from '../../parts/empty.tsx'
import { ToScreen } from '../../parts/link.tsx'
import { type Column, RowList } from '../../parts/row-list.tsx'
import { Screen } from '../../parts/screen.tsx'
import { Amount } from './amount.tsx'
import { PeriodFields, usePeriod } from './period.tsx'
import { TransactionStatus } from './transaction-status.tsx'
import { textAt } from './values.ts'

interface TransactionRow {
  id: string
  amount: number
  currency: string
  status: string
  description?: string
  executor: { trigger?: string }
  bookkeeper: object
  created: number
}

const useColumns = (): readonly Column<TransactionRow>[] => {
  const { t } = useTranslation()
  const { timezone } = usePlace()
  const to = useTo()
  return [
    {
      id: 'time',
      title: t('money.time'),
      show: ({ id, created }) => (
        <ToScreen to={to(`money/transactions/${id}`)}>{showTime(created, timezone)}</ToScreen>
      ),
    },
    {
      id: 'status',
      title: t('money.status'),
      show: ({ status }) => <TransactionStatus status={status} />,
    },
    {
      id: 'amount',
      title: t('money.amount'),
      isNumber: true,
      show: ({ amount, currency }) => <Amount amount={amount} currency={currency} />,
    },
    {
      id: 'description',
      title: t('money.description'),
      isExtra: true,
      show: ({ description }) => <span dir="auto">{description}</span>,
    },
    {
      id: 'said',
      title: t('money.said'),
      isExtra: true,
      show: ({ bookkeeper }) =>
        [textAt(bookkeeper, 'type'), textAt(bookkeeper, 'message') ?? textAt(bookkeeper, 'reason')]
          .filter(Boolean)
          .join(': '),
    },
    {
      id: 'trigger',
      title: t('money.trigger'),
      isExtra: true,
      show: ({ executor: { trigger } }) =>
        trigger === undefined ? '' : t(`money.triggers.${trigger}`, { defaultValue: trigger }),
    },
  ]
}

/** Completed and attempted payments at the billing provider. */
export const TransactionList = () => {
  const { t } = useTranslation()
  const { accountId } = usePlace()
  const period = usePeriod()
  const columns = useColumns()
  const path = { account_id: accountId }
  const { window } = period
  return (
    <Screen title={t('money.part.transactions')}>
      <Group align="end" gap="sm">
        <PeriodFields period={period} />
      </Group>
      <RowList
        label={t('money.part.transactions')}
        queryKey={['transaction', accountId, window.created_from, window.created_to]}
        list={listOf(listTransactions, { path, query: window })}
        order={{ by: 'time', descending: true }}
        columns={columns}
        rowKey={({ id }) => id}
        empty={<Empty Icon={ReceiptText} text={t('money.noTransactions')} />}
      />
    </Screen>
  )
}
