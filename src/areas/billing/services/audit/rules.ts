import { gregorianOfUnix } from '../../../../lib/gregorian.ts'
import { type ComparedInvoice, comparedJson } from '../pricing/invoices.ts'
import { itemCount, itemsIn, leavesOf, type Quantities } from '../quantities/rules.ts'
import { needsSync } from '../rules.ts'

interface NamedAccount {
  id: string
  name: string
}

/** The own counts or plans, those of a sub-account, manual counts, or an edited plan. */
export type AuditReason = 'account' | 'cascade' | 'manual' | 'plan'

interface AuditFacts {
  account: NamedAccount
  changed: NamedAccount
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
    account: NamedAccount
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
  /** Orders entries of one second. */
  place: string
  /** Unix milliseconds. */
  madeAt: number
  doc: AuditDoc
}

export const auditDoc = (compared: ComparedInvoice, facts: AuditFacts): AuditDoc => {
  const { account, changed, types, authentication, agent, request } = facts
  const invoice = comparedJson(compared)
  return {
    status: needsSync(invoice.bookkeeper) ? 'pending' : 'completed',
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

/** A day on which a count changed. */
export interface QuantityDay {
  category: string
  item: string
  /** Like 20261121. */
  day: number
  addition: number
  removal: number
  own: number
  below: number
  /** The manual count that replaces `own`. */
  manual: number | undefined
  /** Unix milliseconds. */
  lastAt: number
}

interface SummaryEntry {
  addition: number
  removal: number
  quantity: number
  last_timestamp: number
  /** False: the quantity is the last one of the day. */
  sum_quantity: boolean
}

type DaySummary = Record<string, SummaryEntry>

const dayText = (day: number) => {
  const digits = String(day)
  return `${digits.slice(0, 4)}-${digits.slice(4, 6)}-${digits.slice(6)}`
}

const countOf = ({ own, below, manual = own }: Pick<QuantityDay, 'own' | 'below' | 'manual'>): number =>
  manual + below

const summaryEntryOf = ({ addition, removal, lastAt, ...counts }: QuantityDay): SummaryEntry => ({
  addition,
  removal,
  quantity: countOf(counts),
  last_timestamp: gregorianOfUnix(lastAt / 1000),
  sum_quantity: false,
})

const byItem = (days: readonly QuantityDay[]) => Map.groupBy(days, ({ item }) => item)

/** The count of an item at the end of a day. */
const quantityAt = (days: readonly QuantityDay[], day: number, now: number) => {
  const last = days.findLast((one) => one.day <= day)
  if (last) return countOf(last)
  const next = days[0]
  return next ? countOf(next) - next.addition + next.removal : now
}

/** A day of a category, with the items that did not change. */
const categoryDays = (days: readonly QuantityDay[], now: Readonly<Record<string, number>>): DaySummary => {
  const items = byItem(days)
  const names = new Set([...items.keys(), ...Object.keys(now)])
  const summary: DaySummary = {}
  for (const [day, moved] of Map.groupBy(days, (one) => one.day)) {
    const quantities = [...names].map((name) =>
      quantityAt(items.get(name) ?? [], day, Object.hasOwn(now, name) ? (now[name] ?? 0) : 0),
    )
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

/** Category -> day -> changes. `now` contains the current counts. */
export const auditSummary = (days: readonly QuantityDay[], now: Quantities): Record<string, DaySummary> =>
  Object.fromEntries(
    [...Map.groupBy(days, (one) => one.category)].map(([category, moved]) => [
      category,
      categoryDays(moved, itemsIn(now, category)),
    ]),
  )

/** Day -> changes of the category of a name, else of an item of that name. */
export const summaryOfOne = (days: readonly QuantityDay[], now: Quantities, name: string): DaySummary => {
  const ofCategory = days.filter(({ category }) => category === name)
  if (ofCategory.length > 0) return categoryDays(ofCategory, itemsIn(now, name))
  const ofItem = days.filter(({ item }) => item === name)
  const same = ofItem.filter(({ category }) => category === ofItem[0]?.category)
  return Object.fromEntries(same.map((one) => [dayText(one.day), summaryEntryOf(one)]))
}

export const daysNewestFirst = (summary: DaySummary) =>
  Object.entries(summary)
    .sort(([a], [b]) => (a < b ? 1 : -1))
    .map(([day, entry]) => ({ [day]: entry }))

/** Own counts, or manual ones instead, and those of sub-accounts. */
export const totalCounts = (
  { account, cascade }: { account: Quantities; cascade: Quantities },
  manual: Quantities,
): Quantities => {
  const categories = new Set([account, cascade, manual].flatMap(Object.keys))
  return Object.fromEntries(
    [...categories].map((category) => {
      const own = { [category]: { ...itemsIn(account, category), ...itemsIn(manual, category) } }
      const below = Object.entries(itemsIn(cascade, category))
      const sums = below.map(([item, count]) => [item, count + (itemCount(own, category, item) ?? 0)])
      return [category, { ...itemsIn(own, category), ...Object.fromEntries(sums) }]
    }),
  )
}

/** Changed manual counts, with the own counts. */
export const manualChanges = (before: Quantities, after: Quantities, own: Quantities) => {
  const leaves = [before, after].flatMap(leavesOf)
  const unique = new Map(leaves.map((leaf) => [JSON.stringify([leaf.category, leaf.item]), leaf]))
  return [...unique.values()].flatMap(({ category, item }) => {
    const [had, has] = [itemCount(before, category, item), itemCount(after, category, item)]
    const count = itemCount(own, category, item) ?? 0
    return had === has
      ? []
      : [{ category, item, manual: has, own: count, delta: (has ?? count) - (had ?? count) }]
  })
}
