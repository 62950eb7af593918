import type { Static } from 'typebox'
import { maxDollars } from '../../../lib/money.ts'
import {
  anyObject,
  anyText,
  gregorian,
  integer,
  list,
  multiline,
  must,
  number,
  open,
  text,
} from '../../../lib/schema.ts'

const source = open({ service: must(text(1, 128)), id: must(text(1, 256)) })

const usage = open({
  type: must(text(1, 64)),
  quantity: must(integer({ minimum: 0, maximum: 1_000_000_000_000 })),
  unit: must(text(1, 64)),
})

export const LedgerRequest = open(
  {
    source: must(source),
    usage: must(usage),
    amount: must(
      number({ exclusiveMinimum: 0, maximum: maxDollars, description: 'Dollars, at most four decimals' }),
    ),
    description: text(0, 1024, multiline),
    period: open({ start: gregorian('Begins'), end: gregorian('Ends') }),
    metadata: anyObject(),
  },
  { title: 'Ledger entry' },
)
export type LedgerRequest = Static<typeof LedgerRequest>

export const LedgerEntry = open({
  id: must(anyText()),
  account: anyObject({ description: 'The account that the entry is about: its id and name' }),
  source: must(source),
  usage: must(usage),
  amount: must(number()),
  description: anyText(),
  period: anyObject(),
  metadata: anyObject(),
  executor: anyObject({ description: 'Trigger and module of the entry' }),
  audit: anyObject(),
  created: gregorian('Time of the booking'),
  created_ms: integer({ description: 'The same in Gregorian milliseconds' }),
})

export const Amount = open({ amount: must(number({ description: 'Dollars' })) })

export const LedgerKind = open({
  name: must(anyText()),
  friendly_name: must(anyText()),
  markup_type: must(list(anyText(), { description: 'Markups of a reseller on its amounts' })),
})
