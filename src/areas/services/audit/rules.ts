import { gregorianOfUnix } from '../../../lib/gregorian.ts'
import { type ComparedInvoice, comparedJson } from '../pricing/invoices.ts'
import type { Quantities } from '../quantities/rules.ts'
import { hasToBeTold } from '../synchronization/rules.ts'

interface Named {
  id: string
  name: string
}

/** Why an invoice changed: the account's own counts or plans, those of an account below, counts set by hand, or a plan that was edited. */
export type AuditReason = 'account' | 'cascade' | 'manual' | 'plan'

/** What an audit entry tells beside its invoice. Who did it is told as far as it is known. */
interface AuditFacts {
  account: Named
  changed: Named
  types: readonly AuditReason[]
  authentication?: { type: string; account_id: string; account_name: string } | undefined
  agent?:
    | { type: 'user'; type_id: string; account_id: string; first_name: string; last_name: string }
    | undefined
  request?: { id: string; client_ip: string; method: string; path: string } | undefined
}

export const auditStatuses = ['pending', 'completed', 'failed'] as const

export interface AuditDoc {
  status: (typeof auditStatuses)[number]
  reason?: string
  message?: string
  audit: {
    account: Named
    changes: { type: readonly AuditReason[]; account_id: string; account_name: string }
    authentication?: AuditFacts['authentication']
    agent?: object
    request?: AuditFacts['request']
  }
  invoice: ReturnType<typeof comparedJson>
  bookkeeper: { id: string; type: string; vendor_id: string; results: readonly object[] }
}

export interface AuditEntry {
  id: string
  /** Gregorian seconds. */
  created: number
  /** Orders what was made in one second. */
  place: string
  /** Unix milliseconds. */
  madeAt: number
  doc: AuditDoc
}

export const auditDoc = (compared: ComparedInvoice, facts: AuditFacts): AuditDoc => {
  const { account, changed, types, authentication, agent, request } = facts
  const invoice = comparedJson(compared)
  return {
    status: hasToBeTold(invoice.bookkeeper) ? 'pending' : 'completed',
    audit: {
      account,
      changes: { type: types, account_id: changed.id, account_name: changed.name },
      ...(authentication ? { authentication } : {}),
      ...(agent ? { agent: { ...agent, full_name: `${agent.first_name} ${agent.last_name}`.trim() } } : {}),
      ...(request ? { request } : {}),
    },
    invoice,
    bookkeeper: { ...invoice.bookkeeper, results: [] },
  }
}

/** A day on which a count moved. */
export interface QuantityDay {
  category: string
  item: string
  /** A number like 20261121. */
  day: number
  addition: number
  removal: number
  own: number
  below: number
  /** Unix milliseconds. */
  lastAt: number
}

interface SummaryEntry {
  addition: number
  removal: number
  quantity: number
  last_timestamp: number
  /** False: the quantity is the latest one of the day. True would say that the day's quantities are added up. */
  sum_quantity: boolean
}

type DaySummary = Record<string, SummaryEntry>

const dayText = (day: number) => {
  const digits = String(day)
  return `${digits.slice(0, 4)}-${digits.slice(4, 6)}-${digits.slice(6)}`
}

const entryOf = ({ addition, removal, own, below, lastAt }: QuantityDay): SummaryEntry => ({
  addition,
  removal,
  quantity: own + below,
  last_timestamp: gregorianOfUnix(lastAt / 1000),
  sum_quantity: false,
})

const byItem = (days: readonly QuantityDay[]) => Map.groupBy(days, ({ item }) => item)

/** How many of an item there were at the end of a day. */
const quantityAt = (days: readonly QuantityDay[], day: number, now: number) => {
  const last = days.findLast((one) => one.day <= day)
  if (last) return last.own + last.below
  const next = days[0]
  return next ? next.own + next.below - next.addition + next.removal : now
}

/** A category's day: all its items together, those that did not move that day included. */
const categoryDays = (days: readonly QuantityDay[], now: Readonly<Record<string, number>>): DaySummary => {
  const items = byItem(days)
  const names = new Set([...items.keys(), ...Object.keys(now)])
  const summary: DaySummary = {}
  for (const [day, moved] of Map.groupBy(days, (one) => one.day)) {
    const quantities = [...names].map((name) => quantityAt(items.get(name) ?? [], day, now[name] ?? 0))
    summary[dayText(day)] = {
      addition: moved.reduce((sum, { addition }) => sum + addition, 0),
      removal: moved.reduce((sum, { removal }) => sum + removal, 0),
      quantity: quantities.reduce((sum, quantity) => sum + quantity, 0),
      last_timestamp: Math.max(...moved.map(({ lastAt }) => gregorianOfUnix(lastAt / 1000))),
      sum_quantity: false,
    }
  }
  return summary
}

/** Category or item -> day -> what moved. `now` is what the account and those below it have at the moment. */
export const auditSummary = (days: readonly QuantityDay[], now: Quantities): Record<string, DaySummary> => {
  const summary: Record<string, DaySummary> = {}
  for (const [category, moved] of Map.groupBy(days, (one) => one.category)) {
    for (const [item, itemDays] of byItem(moved))
      summary[item] = Object.fromEntries(itemDays.map((one) => [dayText(one.day), entryOf(one)]))
    summary[category] = categoryDays(moved, now[category] ?? {})
  }
  return summary
}

/** The days of one category or item, the newest first. */
export const daysNewestFirst = (summary: DaySummary) =>
  Object.entries(summary)
    .sort(([a], [b]) => (a < b ? 1 : -1))
    .map(([day, entry]) => ({ [day]: entry }))

/** Sums of own counts and those below, category -> item -> count. */
export const together = ({ account, cascade }: { account: Quantities; cascade: Quantities }): Quantities => {
  const sum: Quantities = {}
  for (const part of [account, cascade])
    for (const [category, items] of Object.entries(part)) {
      const sums = { ...sum[category] }
      for (const [item, count] of Object.entries(items)) sums[item] = (sums[item] ?? 0) + count
      sum[category] = sums
    }
  return sum
}
