import { getTransaction, type TransactionsAnswer } from '@crosspoint/client'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { useParams } from 'wouter'
import { usePlace, useTo } from '../../frame/place.tsx'
import { showMoney } from '../../lib/amounts.ts'
import { useAnswer } from '../../lib/answers.ts'
import { api } from '../../lib/api.ts'
import { FailureNote } from '../../lib/failures.tsx'
import { showTime } from '../../lib/times.ts'
import { Facts } from '../../parts/facts.tsx'
import { HistoryTab } from '../../parts/history-tab.tsx'
import { ToScreen } from '../../parts/link.tsx'
import { Loading, Screen } from '../../parts/screen.tsx'
import { Amount } from './amount.tsx'
import { leftOf, Refund } from './refund.tsx'
import { useSells } from './rights.ts'
import { TransactionStatus } from './transaction-status.tsx'
import { Unfold } from './unfold.tsx'
import { bookkeeperName, listAt, textAt } from './values.ts'

/** What the bookkeeper said last, where it did not just do it. */
const saidOf = (bookkeeper: object) => {
  const [result] = listAt(bookkeeper, 'results')
  return textAt(result, 'message') ?? textAt(result, 'reason')
}

const useFacts = (transaction: TransactionsAnswer) => {
  const { t } = useTranslation()
  const { timezone } = usePlace()
  const to = useTo()
  const { amount, currency, status, executor, bookkeeper, refunded, refund_of, card } = transaction
  const { trigger } = executor
  const digits = textAt(card, 'last_four')
  const facts: readonly (readonly [string, ReactNode])[] = [
    [t('money.time'), showTime(transaction.created, timezone)],
    [t('money.status'), <TransactionStatus key="status" status={status} />],
    [t('money.amount'), <Amount key="amount" amount={amount} currency={currency} />],
    [
      t('money.refund.refunded'),
      refunded !== undefined &&
        t('money.refund.ofAll', {
          refunded: showMoney(refunded, currency),
          left: showMoney(leftOf(transaction), currency),
        }),
    ],
    [
      t('money.refund.of'),
      refund_of && <ToScreen to={to(`money/transactions/${refund_of}`)}>{refund_of}</ToScreen>,
    ],
    [t('money.description'), transaction.description],
    [t('money.keptBy'), bookkeeperName(textAt(bookkeeper, 'type'))],
    [t('money.said'), saidOf(bookkeeper)],
    [t('money.cards.card'), digits && `•••• ${digits}`],
    [t('money.trigger'), trigger && t(`money.triggers.${trigger}`, { defaultValue: trigger })],
    [t('money.reference'), transaction.order_id],
  ]
  return facts.flatMap(([name, value]) => (value ? [{ key: name, name, value }] : []))
}

const Shown = ({ transaction }: { transaction: TransactionsAnswer }) => {
  const { t } = useTranslation()
  const { accountId } = usePlace()
  const sells = useSells()
  const facts = useFacts(transaction)
  const { id, type, status, amount, currency } = transaction
  const mayRefund = sells && type === 'sale' && status === 'completed' && leftOf(transaction) > 0
  const title = t(`money.transactionOf.${type}`, { amount: showMoney(Math.abs(amount), currency) })
  const apiPath = `/v2/accounts/${accountId}/transactions/${id}`
  return (
    <Screen title={title} actions={mayRefund && <Refund sale={transaction} />}>
      <Facts label={title} rows={facts} />
      <Unfold label={t('record.history')}>
        <HistoryTab apiPath={apiPath} />
      </Unfold>
    </Screen>
  )
}

/** Money that moved at a bookkeeper, or was to move, and what was given back of it. */
export const TransactionRecord = () => {
  const { accountId } = usePlace()
  const { transactionId = '' } = useParams()
  const path = { account_id: accountId, transaction_id: transactionId }
  const found = useAnswer(['transaction', accountId, transactionId], (signal) =>
    getTransaction({ ...api, path, signal }),
  )
  if (found.error && !found.data) return <FailureNote error={found.error} again={found.refetch} />
  return found.data ? <Shown transaction={found.data.data} /> : <Loading />
}
