import type { Static } from 'typebox'
import { accountAdmin, ownReseller, type ResellerOf } from '../../../../auth/policies.ts'
import { type Call, post, type Route } from '../../../../http/route.ts'
import { unitsOfDollars } from '../../../../lib/money.ts'
import { anyObject, number, open } from '../../../../lib/schema.ts'
import type { CommittedChange } from '../../../../storage/idempotency.ts'
import { entryJson } from '../../ledgers/rules.ts'
import { moneyAnswer, moneyFailures } from '../transactions/routes.ts'
import { amountProblems, transactionJson } from '../transactions/rules.ts'
import type { ToppedUp as Done, Topups } from './operations.ts'

/** `amount` has its own messages, so the route validates it. */
const TopupRequest = open({
  amount: number({ description: 'Dollars, at most four decimals; required' }),
})
type TopupRequest = Static<typeof TopupRequest>

export const ToppedUp = open({
  transaction: anyObject({ description: 'Absent if no billing provider charges' }),
  ledger: anyObject({
    description: 'The credit; absent until the billing provider has confirmed the payment',
  }),
})

const base = '/v2/accounts/{account_id}/services/topup'

const toppedUp = ({ transaction, ledger }: Done) =>
  moneyAnswer(transaction, {
    ...(transaction ? { transaction: transactionJson(transaction) } : {}),
    ...(ledger ? { ledger: entryJson(ledger) } : {}),
  })

const booked = new Set(['transaction', 'ledger'])

export const topupRoutes = (topups: Topups, resellerOf: ResellerOf): Route[] => [
  post(base, {
    summary:
      'Top up an account: charged by its billing provider if that charges, else a credit from its reseller',
    allow: accountAdmin,
    body: TopupRequest,
    judge: async ({ data }: { data: { amount?: unknown } }) =>
      amountProblems(data.amount, {
        required: 'Field is required but missing',
        minimum: 'Amount must be greater than 0',
      }),
    answers: ToppedUp,
    fails: moneyFailures,
    run: async ({ author, actor, account, path, data }: Call<typeof base, TopupRequest>) => {
      const maySell = async () => ownReseller.allows(actor, account, path, resellerOf)
      return toppedUp(await topups.byHand(author, account, unitsOfDollars(data.amount as number), maySell))
    },
    again: async ({ path }: Pick<Call<typeof base>, 'path'>, changes: readonly CommittedChange[]) => {
      const { kind = '', id = '' } = changes.find((change) => booked.has(change.kind)) ?? {}
      return toppedUp(await topups.again(path.account_id, kind, id))
    },
  }),
]
