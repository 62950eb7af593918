import type { AccountRecord } from '../../../auth/identity.ts'
import type { OperatorLimits } from '../../../lib/limit-shapes.ts'
import type { ChangeSet } from '../../../storage/change-set.ts'
import type { Accounts } from '../../accounts/operations.ts'
import type { Ledgers, Posting } from '../../ledgers/operations.ts'
import type { Allotments, IncludedCall } from '../../limits/allotments/operations.ts'
import type { LimitBook } from '../../limits/operations.ts'
import type { CallQuestion, Rates } from '../../rates/operations.ts'
import { type Leg, payersOf } from '../intake/rules.ts'
import { allotmentOf, callsService, debitOf, lacksRate, type NewCall, rated, ratedNumber } from './rules.ts'

interface Tools {
  accounts: Pick<Accounts, 'find' | 'resellerOf'>
  rates: Pick<Rates, 'lookUpMany' | 'ratedeckOf'>
  limits: Pick<LimitBook, 'ofOperator'>
  ledgers: Pick<Ledgers, 'debitMany'>
  allotments: Pick<Allotments, 'consume'>
  /** The classifier of a number, if it has one. */
  classOf(number: string): Promise<string | undefined>
}

/** How calls of an account are priced. */
interface Tariff {
  ratedeckId: string | undefined
  resellerId: string
  discounts: NonNullable<OperatorLimits['discounts']>
}

const isPaid = (record: Leg['record']) => {
  const { account, reseller } = payersOf(record)
  return account || reseller
}

export type CallBilling = ReturnType<typeof createCallBilling>

/** What calls cost, and who pays it, when their records come in. */
export const createCallBilling = (tools: Tools) => {
  const { accounts, rates, limits, ledgers, allotments, classOf } = tools

  const tariffOf = async (account: AccountRecord): Promise<Tariff> => ({
    ratedeckId: await rates.ratedeckOf(account),
    resellerId: await accounts.resellerOf(account),
    discounts: (await limits.ofOperator(account)).discounts ?? {},
  })

  const tariffsOf = async (legs: readonly Leg[]) => {
    const tariffs = new Map<string, Tariff>()
    for (const { accountId } of legs) {
      if (tariffs.has(accountId)) continue
      const account = await accounts.find(accountId)
      if (account) tariffs.set(accountId, await tariffOf(account))
    }
    return tariffs
  }

  const questionOf = ({ record }: Leg, tariff: Tariff | undefined): CallQuestion => ({
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

  /** Who pays for a leg by the minute: the account, its reseller, or both, each once. */
  const payersFor = async (account: AccountRecord, { record }: Leg): Promise<AccountRecord[]> => {
    const { account: isAccounts, reseller: isResellers } = payersOf(record)
    const reseller = isResellers ? await accounts.find(await accounts.resellerOf(account)) : undefined
    const payers = [...(isAccounts ? [account] : []), ...(reseller ? [reseller] : [])]
    return [...new Map(payers.map((payer) => [payer.id, payer])).values()]
  }

  const postingOf = (call: NewCall, account: AccountRecord): Posting | undefined => {
    const debit = debitOf(call)
    if (!debit) return undefined
    const { callId, cost, chargedSeconds, description, period, metadata } = debit
    return {
      source: { service: callsService, id: callId },
      usage: { type: 'voice', quantity: chargedSeconds, unit: 'sec' },
      amount: -cost,
      about: { id: account.id, name: account.doc.name },
      identity: [callsService, account.id, call.row.id],
      details: {
        ...(description === undefined ? {} : { description }),
        period,
        metadata,
        executor: { trigger: 'automatic', module: 'cdrs' },
      },
    }
  }

  const debitCalls = async (set: ChangeSet, calls: readonly NewCall[]) => {
    const postings = new Map<string, { payer: AccountRecord; postings: Posting[] }>()
    for (const call of calls) {
      const account = isPaid(call.leg.record) ? await accounts.find(call.leg.accountId) : undefined
      const posting = account && postingOf(call, account)
      if (!posting) continue
      for (const payer of await payersFor(account, call.leg)) {
        const known = postings.get(payer.id) ?? { payer, postings: [] }
        postings.set(payer.id, known)
        known.postings.push(posting)
      }
    }
    // Always in one order, so that two batches at once do not wait for each other.
    for (const [, { payer, postings: ofPayer }] of [...postings].sort(([a], [b]) => (a < b ? -1 : 1)))
      ledgers.debitMany(set, payer, ofPayer)
  }

  const includedCall = ({ leg: { accountId, record }, row }: NewCall, key: string): IncludedCall => ({
    accountId,
    key,
    direction: record.call_direction,
    number: ratedNumber(record),
    at: row.created,
    seconds: record.billing_seconds ?? 0,
  })

  return {
    /** The legs with the rates of those that are paid by the minute and do not say at which. */
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

    /** Takes what new calls cost from the ledgers, or from what is included, in the change set that stores them. */
    async book(set: ChangeSet, calls: readonly NewCall[]) {
      await debitCalls(set, calls)
      const included = calls.flatMap((call) => {
        const key = allotmentOf(call.leg.record)
        return key === undefined ? [] : [includedCall(call, key)]
      })
      if (included.length > 0) await allotments.consume(set, included)
    },
  }
}
