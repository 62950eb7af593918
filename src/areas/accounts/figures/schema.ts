import { anyText, flag, id, integer, list, must, number, open } from '../../../lib/schema.ts'
import { CallStat } from '../../calls/cdrs/schema.ts'

const count = (description: string) => must(integer({ minimum: 0, description }))

export const ChildFigures = open(
  {
    id: must(id()),
    name: must(anyText()),
    realm: must(anyText()),
    enabled: must(flag()),
    is_reseller: must(flag()),
    descendants_count: count('Accounts below it'),
    balance: must(number({ description: 'Dollars' })),
    calls: count('Legs of the last 30 UTC days, today included'),
    alerts: count('Alerts about its balance, payments and ports'),
  },
  { title: 'Figures of a sub-account' },
)

export const DescendantFigures = open(
  {
    accounts: count('All accounts below'),
    disabled: count('Those that are disabled'),
    overdrawn: count('Those with a balance below zero'),
    charged: must(
      list(
        open({
          month: must(anyText({ description: 'UTC month, such as 2026-11' })),
          amount: must(number({ description: 'Dollars; refunds and credits are subtracted' })),
        }),
        { description: 'Charges to the accounts whose reseller this account is, without payments' },
      ),
    ),
    calls: must(list(CallStat, { description: 'Calls of all accounts below by UTC day' })),
  },
  { title: 'Figures of all accounts below' },
)
