import { present } from '../../../../lib/json.ts'
import { mergePatch } from '../../../../lib/json-merge.ts'
import { elementAt } from '../../../../lib/list.ts'
import type { ItemPlan, ItemPlans, PlanDoc } from '../plans/schema.ts'
import type { TaxStatus } from '../schema.ts'
import type { Bookkeeper } from './plan.ts'

export interface AssignedPlan {
  id: string
  vendorId: string
  doc: PlanDoc
  /** For this plan on this account. They override those of the account. */
  overrides?: PlanDoc
}

export interface PriceList {
  bookkeeper: Bookkeeper
  plan: ItemPlans
  tax?: TaxStatus
}

/** Whether counts of sub-accounts have a price. */
export const cascades = ({ plan }: PriceList) =>
  Object.values(plan).some((items) => Object.values(items).some(({ cascade }) => cascade))

type MergeStrategy = 'simple' | 'recursive' | 'cumulative'
export type StrategyPriorities = Readonly<Record<MergeStrategy, number>>

const mergePatches = <T extends object>(...parts: (T | undefined)[]): T =>
  parts.reduce<unknown>((whole, part) => (part ? mergePatch(whole, part) : whole), {}) as T

const overridden = (plan: AssignedPlan, accountOverrides: PlanDoc): AssignedPlan => ({
  ...plan,
  doc: mergePatches(plan.doc, accountOverrides, plan.overrides),
})

const bookkeeperOf = ({ doc, vendorId }: AssignedPlan, fallback: Bookkeeper): Bookkeeper => {
  const { bookkeeper } = doc
  if (!bookkeeper || Object.keys(bookkeeper).length === 0) return fallback
  return { id: fallback.id, type: fallback.type, ...bookkeeper, vendor_id: bookkeeper.vendor_id ?? vendorId }
}

const priorityOf = ({ doc }: AssignedPlan) => doc.merge?.priority ?? 0
const strategyOf = ({ doc }: AssignedPlan): MergeStrategy => doc.merge?.strategy ?? 'simple'

/** Lowest priority first, then by id. */
const ascending = (plans: readonly AssignedPlan[]) =>
  [...plans].sort((a, b) => priorityOf(a) - priorityOf(b) || (a.id < b.id ? -1 : 1))

const mergeItems = (
  plans: readonly ItemPlans[],
  merge: (items: readonly ItemPlan[]) => ItemPlan,
): ItemPlans => {
  const gathered = new Map<string, Map<string, ItemPlan[]>>()
  for (const plan of plans)
    for (const [category, items] of Object.entries(plan)) {
      const byItem = gathered.get(category) ?? new Map<string, ItemPlan[]>()
      gathered.set(category, byItem)
      for (const [item, itemPlan] of Object.entries(items))
        byItem.set(item, [...(byItem.get(item) ?? []), itemPlan])
    }
  return Object.fromEntries(
    [...gathered].map(([category, items]) => [
      category,
      Object.fromEntries([...items].map(([item, found]) => [item, merge(found)])),
    ]),
  )
}

const sum = (values: readonly (number | undefined)[]) => {
  const given = values.filter((value) => value !== undefined)
  return given.length === 0 ? undefined : given.reduce((total, value) => total + value, 0)
}

const either = (values: readonly (boolean | undefined)[]) => {
  const given = values.filter((value) => value !== undefined)
  return given.length === 0 ? undefined : given.includes(true)
}

const mergedTiers = <T extends object>(values: readonly (T | undefined)[]) =>
  values.some((value) => value !== undefined) ? mergePatches(...values) : undefined

/** Counts are added, tiers merged; single values come from the highest priority. Items come lowest first. */
const accumulate = (items: readonly ItemPlan[]): ItemPlan => {
  const highest = <K extends keyof ItemPlan>(key: K) =>
    items.findLast((item) => item[key] !== undefined)?.[key]
  const cumulatives = items.map((item) => item.discounts?.cumulative)
  const singles = items.map((item) => item.discounts?.single)
  const cumulative = present({
    rate: cumulatives.findLast((discount) => discount?.rate !== undefined)?.rate,
    minimum: cumulatives.findLast((discount) => discount?.minimum !== undefined)?.minimum,
    maximum: sum(cumulatives.map((discount) => discount?.maximum)),
    rates: mergedTiers(cumulatives.map((discount) => discount?.rates)),
  })
  const discounts = present({
    single: mergedTiers(singles),
    cumulative: cumulatives.some(Boolean) ? cumulative : undefined,
  })
  const exceptions = [...new Set(items.flatMap((item) => item.exceptions ?? []))]
  const prorate = present({
    additions: either(items.map((item) => item.prorate?.additions)),
    removals: either(items.map((item) => item.prorate?.removals)),
  })
  return present({
    name: highest('name'),
    as: highest('as'),
    rate: highest('rate'),
    flat_rate: highest('flat_rate'),
    step: highest('step'),
    quantity: highest('quantity'),
    activation_charge: highest('activation_charge'),
    minimum: sum(items.map((item) => item.minimum)),
    rates: mergedTiers(items.map((item) => item.rates)),
    flat_rates: mergedTiers(items.map((item) => item.flat_rates)),
    cascade: either(items.map((item) => item.cascade)),
    exceptions: exceptions.length > 0 ? exceptions : undefined,
    discounts: Object.keys(discounts).length > 0 ? discounts : undefined,
    prorate: Object.keys(prorate).length > 0 ? prorate : undefined,
    taxes: highest('taxes'),
  })
}

const byStrategy: Record<MergeStrategy, (items: readonly ItemPlan[]) => ItemPlan> = {
  simple: (items) => elementAt(items, -1),
  recursive: (items) => mergePatches(...items),
  cumulative: accumulate,
}

const plansOf = (plans: readonly AssignedPlan[]) => ascending(plans).map(({ doc }) => doc.plan ?? {})

/** Merges each strategy's plans, then lays those of larger priority over the others. */
const mergeGroup = (plans: readonly AssignedPlan[], priorities: StrategyPriorities): ItemPlans => {
  const groups = [...Map.groupBy(plans, strategyOf)].sort(([a], [b]) => priorities[a] - priorities[b])
  return mergePatches(...groups.map(([strategy, group]) => mergeItems(plansOf(group), byStrategy[strategy])))
}

const bookkeeperKey = ({ id, type, vendor_id }: Bookkeeper) => JSON.stringify([id, type, vendor_id])

/** A price list for each bookkeeper, in a fixed order. */
export const mergePlans = (
  plans: readonly AssignedPlan[],
  accountOverrides: PlanDoc,
  fallback: Bookkeeper,
  priorities: StrategyPriorities,
): PriceList[] => {
  const whole = plans.map((plan) => overridden(plan, accountOverrides))
  const groups = Map.groupBy(whole, (plan) => bookkeeperKey(bookkeeperOf(plan, fallback)))
  return [...groups]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, group]) => ({
      bookkeeper: bookkeeperOf(elementAt(group, 0), fallback),
      plan: mergeGroup(group, priorities),
    }))
}

/** What plans contain besides prices, merged key by key. */
export const mergeRest = (
  plans: readonly AssignedPlan[],
  accountOverrides: PlanDoc,
): Omit<PlanDoc, 'plan'> => {
  const docs = ascending(plans.map((plan) => overridden(plan, accountOverrides))).map(({ doc }) => doc)
  const { plan: _, ...rest } = mergePatches(...docs)
  return rest
}
