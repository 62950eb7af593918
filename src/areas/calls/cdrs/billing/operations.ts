import type { AccountRecord } from '../../../../auth/identity.ts'
import type { OperatorLimits } from '../../../../lib/limit-shapes.ts'
import { elementAt } from '../../../../lib/list.ts'
import type { ChangeSet } from '../../../../storage/change-set.ts'
import type { Accounts } from '../../../accounts/accounts/operations.ts'
import type { Ledgers } from '../../../billing/ledgers/operations.ts'
import type { LedgerPosting } from '../../../billing/ledgers/rules.ts'
import type { Allotments } from '../../../billing/limits/allotments/operations.ts'
import type { LimitsOfAccounts } from '../../../billing/limits/operations.ts'
import type { RatedCallQuery, Rates } from '../../../billing/rates/operations.ts'
import type { Leg } from '../intake/rules.ts'
import { type CallDebit, callsService, lacksRate, type NewCall, rated, ratedNumber } from './rules.ts'

interface Deps {
  accounts: Pick<Accounts, 'find' | 'resellerOf'>
  rates: Pick<Rates, 'lookUpMany' | 'ratedeckOf'>
  limits: Pick<LimitsOfAccounts, 'ofOperator'>
  ledgers: Pick<Ledgers, 'debitMany'>
  allotments: Pick<Allotments, 'consume'>
  classOf(number: string): Promise<string | undefined>
}

const postingOf = (
  { callId, cost, chargedSeconds, description, period, metadata }: CallDebit,
  { id, account }: { id: string; account: AccountRecord },
): LedgerPosting => ({
  source: { service: callsService, id: callId },
  usage: { type: 'voice', quantity: chargedSeconds, unit: 'sec' },
  amount: -cost,
  about: { id: account.id, name: account.doc.name },
  identity: [callsService, account.id, id],
  time: period.end,
  details: {
    ...(description === undefined ? {} : { description }),
    period,
    metadata,
    executor: { trigger: 'automatic', module: 'cdrs' },
  },
})

interface Tariff {
  ratedeckId: string | undefined
  resellerId: string
  discounts: NonNullable<OperatorLimits['discounts']>
}

export type CallBilling = ReturnType<typeof createCallBilling>

/** Prices calls and books them when their records arrive. */
export const createCallBilling = (tools: Deps) => {
  const { accounts, rates, limits, ledgers, allotments, classOf } = tools

  const tariffOf = async (account: AccountRecord): Promise<Tariff> => ({
    ratedeckId: await rates.ratedeckOf(account),
    resellerId: await accounts.resellerOf(account),
    discounts: (await limits.ofOperator(account)).discounts ?? {},
  })

  const tariffsOf = async (legs: readonly Leg[]) => {
    const tariffs = new Map<string, Tariff>()
    for (const id of new Set(legs.map(({ accountId }) => accountId))) {
      const account = await accounts.find(id)
      if (account) tariffs.set(id, await tariffOf(account))
    }
    return tariffs
  }

  const questionOf = ({ record }: Leg, tariff: Tariff | undefined): RatedCallQuery => ({
    number: ratedNumber(record) ?? '',
    direction: record.call_direction,
    callerIdNumber: record.caller_id_number,
    ratedeckId: tariff?.ratedeckId,
    resellerId: tariff?.resellerId,
  })

  const discountFor = async ({ record }: Leg, tariff: Tariff | undefined) => {
    const { discounts = {} } = tariff ?? {}
    if (Object.keys(discounts).length === 0) return undefined
    const name = await classOf(ratedNumber(record) ?? '')
    return name === undefined ? undefined : discounts[name]?.percentage
  }

  /** The account, its reseller, or both. */
  const payersFor = async (account: AccountRecord, payers: CallDebit['payers']): Promise<AccountRecord[]> => {
    const reseller = payers.reseller ? await accounts.find(await accounts.resellerOf(account)) : undefined
    const all = [...(payers.account ? [account] : []), ...(reseller ? [reseller] : [])]
    return [...new Map(all.map((payer) => [payer.id, payer])).values()]
  }

  const debitCalls = async (set: ChangeSet, calls: readonly NewCall[]) => {
    const debits: { payer: AccountRecord; posting: LedgerPosting }[] = []
    for (const { accountId, id, debit } of calls) {
      const account = debit && (await accounts.find(accountId))
      if (!account) continue
      const posting = postingOf(debit, { id, account })
      for (const payer of await payersFor(account, debit.payers)) debits.push({ payer, posting })
    }
    const byPayer = [...Map.groupBy(debits, ({ payer }) => payer.id)]
    // In one order, so that two batches do not deadlock.
    for (const [, some] of byPayer.sort(([a], [b]) => (a < b ? -1 : 1)))
      ledgers.debitMany(
        set,
        elementAt(some, 0).payer,
        some.map(({ posting }) => posting),
      )
  }

  return {
    /** Adds rates to the legs that are billed per minute and have none. */
    async price(legs: readonly Leg[]): Promise<readonly Leg[]> {
      const wanting = legs.filter(({ record }) => lacksRate(record))
      if (wanting.length === 0) return legs
      const tariffs = await tariffsOf(wanting)
      const found = await rates.lookUpMany(wanting.map((leg) => questionOf(leg, tariffs.get(leg.accountId))))
      const priced = new Map<Leg, Leg>()
      for (const [index, leg] of wanting.entries()) {
        const rate = found[index]
        const discount = rate && (await discountFor(leg, tariffs.get(leg.accountId)))
        if (rate) priced.set(leg, rated(leg, rate.id, rate.doc, discount))
      }
      return legs.map((leg) => priced.get(leg) ?? leg)
    },

    /** Debits new calls, or uses up allotments, in the change set that stores them. */
    async book(set: ChangeSet, calls: readonly NewCall[]) {
      await debitCalls(set, calls)
      const included = calls.flatMap((call) => call.included ?? [])
      if (included.length > 0) await allotments.consume(set, included)
    },
  }
}
