import type { Static } from 'typebox'
import {
  anyObject,
  anyText,
  choice,
  integer,
  list,
  multiline,
  must,
  number,
  open,
  text,
} from '../../../../lib/schema.ts'

/** `amount` has its own messages, so the routes validate it. */
export const TransactionRequest = open(
  {
    amount: number({ description: 'Dollars, at most four decimals; required' }),
    description: text(0, 1024, multiline),
    metadata: anyObject(),
    order_id: text(1, 128, { description: 'The account of the caller' }),
    transaction_id: text(1, 64, {
      description: 'For a refund: the sale. Absent: the newest one with enough left',
    }),
  },
  { title: 'Transaction' },
)
export type TransactionRequest = Static<typeof TransactionRequest>

const executor = open({ trigger: anyText(), module: anyText() })
const transactionStatus = choice(['pending', 'completed', 'failed'])

export const TransactionRow = open({
  id: must(anyText()),
  amount: must(number({ description: 'Dollars; refunds are negative' })),
  currency: must(anyText()),
  status: must(transactionStatus),
  executor: must(executor),
  description: anyText(),
  metadata: anyObject(),
  bookkeeper: must(anyObject()),
  created: must(integer({ description: 'Gregorian seconds' })),
})

export const TransactionRecord = open({
  id: must(anyText()),
  account: must(anyObject()),
  amount: must(number()),
  currency: must(anyText()),
  type: must(choice(['sale', 'refund'])),
  status: must(transactionStatus),
  description: anyText(),
  executor: must(executor),
  bookkeeper: must(anyObject()),
  metadata: anyObject(),
  order_id: anyText(),
  refund_of: anyText(),
  refunded: number(),
  card: anyObject(),
  audit: anyObject(),
  created: must(integer()),
})

export const Balance = open({ balance: must(number({ description: 'Dollars' })) })

export const RecurringRow = open({
  id: must(anyText()),
  amount: must(number()),
  type: must(anyText()),
  reason: must(anyText()),
  description: must(anyText()),
  created: must(integer()),
})

export const Subscription = open({
  id: must(anyText()),
  price: must(number()),
  billing_first_date: must(integer()),
  billing_start_date: must(integer()),
  billing_end_date: must(integer()),
  next_bill_date: must(integer()),
  add_ons: must(list(open({ id: must(anyText()), quantity: must(integer()), amount: must(number()) }))),
})
