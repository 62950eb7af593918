import type { StepwiseWork } from '../../../../jobs/steps.ts'
import { daySeconds } from '../../../../lib/gregorian.ts'
import { type Author, ChangeSet } from '../../../../storage/change-set.ts'
import type { Store } from '../../../../storage/store.ts'
import type { Span } from '../stats/rules.ts'
import { daysApart, dueCosts, type Period, periodAt } from './rules.ts'
import { createRebuildStore } from './store.ts'

// A month of more records than these is done day by day: whoever writes records waits for a step.
const maxLegs = 20_000

/** Statistics of an account counted anew from its stored records, whose costs are checked as well. */
export const createCdrRebuild = (store: Store): StepwiseWork => {
  const legs = createRebuildStore(store)

  /** Records that were dropped or archived are still in the statistics: what they may be part of stays. */
  const nextPeriod = async (accountId: string, from: number) => {
    const absent = await legs.absentMonths()
    for (let place = from; ; ) {
      const time = await legs.nextTime(accountId, place)
      if (time === undefined) return undefined
      const period = periodAt(time)
      if (!period.tables.some((month) => absent.includes(month))) return { period, time }
      place = period.end
    }
  }

  const spanOf = async (accountId: string, period: Period, start: number, time: number): Promise<Span> => {
    const whole = { from: Math.max(period.from, start), end: period.end }
    if ((await legs.count(accountId, period, whole, maxLegs)) <= maxLegs) return whole
    const from = Math.floor(time / daySeconds) * daySeconds
    return { from, end: from + daySeconds }
  }

  const correctCosts = async (set: ChangeSet, accountId: string, period: Period, span: Span) => {
    let corrected = 0
    for await (const rows of legs.billed(accountId, period, span)) {
      for (const row of rows) {
        const costs = dueCosts(row)
        if (costs.cost === row.cost && costs.reseller_cost === row.reseller_cost) continue
        legs.correctCost(set, row, costs)
        corrected += 1
      }
    }
    return corrected
  }

  const rebuild = async (author: Author, accountId: string, period: Period, span: Span) => {
    const set = new ChangeSet(author)
    const costs = await correctCosts(set, accountId, period, span)
    const days = daysApart(await legs.tallyDays(accountId, span), await legs.legDays(accountId, period, span))
    await legs.replaceTallies(set, accountId, period, span)
    const after = JSON.stringify({ from: span.from, to: span.end, wrong_days: days, wrong_costs: costs })
    set.record({ accountId, kind: 'cdr_statistics', id: String(period.month), action: 'edited', after })
    return { set, changed: days + costs }
  }

  return async (author, { id }, position) => {
    const start = position === undefined ? 0 : Number(position)
    const found = await nextPeriod(id, start)
    if (!found) return { sets: [], changed: 0 }
    const { period, time } = found
    const span = await spanOf(id, period, start, time)
    const { set, changed } = await rebuild(author, id, period, span)
    return { sets: [set], changed, next: String(span.end) }
  }
}
