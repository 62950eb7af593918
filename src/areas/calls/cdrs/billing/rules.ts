import { present } from '../../../../lib/json.ts'
import { microUnitsOfDollars } from '../../../../lib/money.ts'
import type { IncludedCall } from '../../../billing/limits/allotments/rules.ts'
import type { CdrRow } from '../columns.ts'
import { chargeOf, type Leg, type PriceKey, payersOf, pricedIn } from '../intake/rules.ts'
import type { Cdr } from '../schema.ts'

// Who pays for a call, at which price, and what the ledger says of it.

/** The fields of a rate that price a call. Money in dollars. */
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

/** What a leg whose record is new costs, or takes from what is included. */
export interface NewCall {
  accountId: string
  /** Of its row. */
  id: string
  debit: CallDebit | undefined
  included: IncludedCall | undefined
}

/** Whether a call is paid for by the minute and nobody said yet at which price. */
export const lacksRate = (record: Cdr) => {
  const { account, reseller } = payersOf(record)
  return (account || reseller) && record.custom_channel_vars?.rate === undefined
}

/** The user of an address, without what a repair of the record has put into it. */
const userPart = (address: string | undefined) => address?.split('@', 1)[0]?.replaceAll(/[ \ufffd]/g, '')

const dialledForm = /^\+?\d{7,15}$/

/** The number outside of the platform that the call went to, or the own one that was called from outside. */
export const ratedNumber = (record: Cdr): string | undefined => {
  const { call_direction: direction, request, to, callee_id_number: callee } = record
  // As the carrier is asked for it a number may have lost its country.
  const said = record.custom_channel_vars?.e164_destination
  const places = direction === 'inbound' ? [said, request, to, callee] : [said, to, request, callee]
  return places.map(userPart).find((text) => text !== undefined && dialledForm.test(text))
}

/** Money in whole units, and exactly where that is something else. */
const inUnits = (key: PriceKey, dollars: number) => pricedIn(key, microUnitsOfDollars(dollars))

/** A call with the rate that was found for it: its record says from now on what it costs. */
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

/** What is booked for a call. */
export interface CallDebit {
  /** Who pays it. */
  payers: { account: boolean; reseller: boolean }
  callId: string
  /** Units. */
  cost: number
  chargedSeconds: number
  description: string | undefined
  period: { start: number; end: number }
  metadata: Record<string, unknown>
}

const metadataOf = (record: Cdr) => {
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

/** How a leg is stored, as far as it is paid for. */
type PaidRow = Pick<CdrRow, 'id' | 'created' | 'duration_seconds'>

/** What a call comes to for whoever pays it by the minute; undefined when nobody does, or it costs nothing. */
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
    metadata: metadataOf(record),
  }
}

const includedForm = /^allotment(?:_(.+))?$/

/** Whether a call was included: in the allotment that the record names, or in the one for its number (`''`). */
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

/** What is to be paid for a leg with a price; undefined where nothing is, and nothing was included. */
export const newCallOf = (leg: Leg, row: PaidRow): NewCall | undefined => {
  const debit = debitOf(leg.record, row)
  const included = includedCall(leg, row)
  return debit || included ? { accountId: leg.accountId, id: row.id, debit, included } : undefined
}
