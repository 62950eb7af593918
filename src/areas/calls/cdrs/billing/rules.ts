import { present } from '../../../../lib/json.ts'
import { microUnitsOfDollars } from '../../../../lib/money.ts'
import type { IncludedCall } from '../../../billing/limits/allotments/rules.ts'
import type { CdrRow } from '../columns.ts'
import { chargeOf, type Leg, type PriceKey, payersOf, pricedIn } from '../intake/rules.ts'
import type { Cdr } from '../schema.ts'

/** Money in dollars. */
interface PricingRate {
  rate_cost: number
  rate_surcharge?: number
  rate_increment?: number
  rate_minimum?: number
  rate_nocharge_time?: number
  rate_name?: string
  description?: string
  ratedeck_id?: string
}

export const callsService = 'per-minute-voip'

/** Cost of a new leg, or its use of an allotment. */
export interface NewCall {
  accountId: string
  /** The ID of its row. */
  id: string
  debit: CallDebit | undefined
  included: IncludedCall | undefined
}

export const lacksRate = (record: Cdr) => {
  const { account, reseller } = payersOf(record)
  return (account || reseller) && record.custom_channel_vars?.rate === undefined
}

/** The user part of an address, without the characters that a repair inserts. */
const userPart = (address: string | undefined) => address?.split('@', 1)[0]?.replaceAll(/[ \ufffd]/g, '')

const dialledForm = /^\+?\d{7,15}$/

/** The called number outside of the platform, or for inbound calls the account's own number. */
export const ratedNumber = (record: Cdr): string | undefined => {
  const { call_direction: direction, request, to, callee_id_number: callee } = record
  // The number in the carrier's request may lack the country code.
  const said = record.custom_channel_vars?.e164_destination
  const places = direction === 'inbound' ? [said, request, to, callee] : [said, to, request, callee]
  return places.map(userPart).find((text) => text !== undefined && dialledForm.test(text))
}

const inUnits = (key: PriceKey, dollars: number) => pricedIn(key, microUnitsOfDollars(dollars))

/** The leg with the rate that was found. */
export const rated = (leg: Leg, rateId: string, rate: PricingRate, discount: number | undefined): Leg => {
  const { rate_increment: increment = 60, rate_minimum: minimum = 60, rate_nocharge_time: free = 0 } = rate
  const found = {
    ...inUnits('rate', rate.rate_cost),
    rate_id: rateId,
    rate_increment: increment,
    rate_minimum: minimum,
    rate_nocharge_time: free,
    ...inUnits('surcharge', rate.rate_surcharge ?? 0),
    ...(rate.rate_name === undefined ? {} : { rate_name: rate.rate_name }),
    ...(rate.description === undefined ? {} : { rate_description: rate.description }),
    ...(rate.ratedeck_id === undefined ? {} : { ratedeck_id: rate.ratedeck_id }),
    ...(discount === undefined ? {} : { discount_percentage: discount }),
  }
  const custom_channel_vars = { ...leg.record.custom_channel_vars, ...found }
  return { ...leg, record: { ...leg.record, custom_channel_vars } }
}

export interface CallDebit {
  payers: { account: boolean; reseller: boolean }
  callId: string
  /** In units of 1/10,000. */
  cost: number
  chargedSeconds: number
  description: string | undefined
  period: { start: number; end: number }
  metadata: Record<string, unknown>
}

const callMetadataOf = (record: Cdr) => {
  const vars: Record<string, unknown> = record.custom_channel_vars ?? {}
  return present({
    to: record.to,
    from: record.from,
    direction: record.call_direction,
    caller_id_number: record.caller_id_number,
    caller_id_name: record.caller_id_name,
    callee_id_number: record.callee_id_number,
    callee_id_name: record.callee_id_name,
    rate: present({
      name: vars.rate_name,
      description: vars.rate_description,
      value: vars.rate,
      increment: vars.rate_increment,
      minimum: vars.rate_minimum,
      nocharge_time: vars.rate_nocharge_time,
    }),
    billing_seconds: record.billing_seconds,
  })
}

type PaidRow = Pick<CdrRow, 'id' | 'created' | 'duration_seconds'>

/** Undefined if no account pays per minute or the cost is zero. */
const debitOf = (record: Cdr, row: PaidRow): CallDebit | undefined => {
  const payers = payersOf(record)
  if (!payers.account && !payers.reseller) return undefined
  const { cost, chargedSeconds } = chargeOf(record)
  if (cost <= 0) return undefined
  return {
    payers,
    callId: record.call_id,
    cost,
    chargedSeconds,
    description: record.custom_channel_vars?.rate_name,
    period: { start: row.created - (row.duration_seconds ?? 0), end: row.created },
    metadata: callMetadataOf(record),
  }
}

const includedForm = /^allotment(?:_(.+))?$/

/** The allotment of an included call, or `''` for the allotment that matches its number. */
const allotmentOf = (record: Cdr): string | undefined => {
  const found = includedForm.exec(record.custom_channel_vars?.account_billing ?? '')
  return found ? (found[1] ?? '') : undefined
}

const includedCall = ({ accountId, record }: Leg, row: PaidRow): IncludedCall | undefined => {
  const key = allotmentOf(record)
  if (key === undefined) return undefined
  return {
    accountId,
    key,
    direction: record.call_direction,
    number: ratedNumber(record),
    at: row.created,
    seconds: record.billing_seconds ?? 0,
  }
}

/** Undefined if the leg costs nothing and uses no allotment. */
export const newCallOf = (leg: Leg, row: PaidRow): NewCall | undefined => {
  const debit = debitOf(leg.record, row)
  const included = includedCall(leg, row)
  return debit || included ? { accountId: leg.accountId, id: row.id, debit, included } : undefined
}
