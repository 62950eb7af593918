import { accountMember, type ResellerOf, seesCosts } from '../../../auth/policies.ts'
import type { Clock } from '../../../lib/clock.ts'
import { invalid } from '../../../lib/failure.ts'
import { gregorianNow, gregorianOfUnix, unixOfGregorian } from '../../../lib/gregorian.ts'
import type { Json } from '../../../lib/json.ts'
import { badRange, timeBound } from '../../../lib/time-bounds.ts'
import type { OutputAction, TaskContext } from '../../work/tasks/operations.ts'
import { type CdrRow, isPricedForReseller, tellsCost } from './columns.ts'
import type { Cdrs } from './operations.ts'
import type { CdrPlace } from './places.rules.ts'
import { sheetRowOf } from './rules.ts'
import { columnsFor } from './sheet/columns.ts'

interface Deps {
  cdrs: Cdrs
  clock: Clock
  resellerOf: ResellerOf
}

const rowsOfAPart = 500
/** The position after the last record. */
const atEnd = 'end'

const offsetIn = ({ utc_offset: value }: Json): number | undefined => {
  if (value === undefined) return undefined
  // `+` in a query is decoded as a space.
  if (/^ ?[+-]?\d{1,9}$/.test(String(value))) return Number(value)
  const message = 'Value is not of the right type'
  throw invalid({ utc_offset: { type: { message, target: 'integer', value } } })
}

const beginningOfMonth = (gregorianSeconds: number) => {
  const now = new Date(unixOfGregorian(gregorianSeconds) * 1000)
  return gregorianOfUnix(Date.UTC(now.getUTCFullYear(), now.getUTCMonth()) / 1000)
}

async function* outputPartsOf(
  { legs }: Cdrs,
  { account, parameters }: TaskContext,
  { descending, forReseller }: { descending: boolean; forReseller: boolean },
  position: string | undefined,
) {
  if (position === atEnd) return
  const { created_from: from, created_to: to } = parameters
  const scope = { accountId: account.id, from: Number(from), to: Number(to), questions: [] }
  const view = { utcOffset: Number(parameters.utc_offset ?? 0), forReseller }
  // All readers of the account see the output: it must not contain its reseller's price.
  const rowOf = (leg: CdrRow): Json =>
    isPricedForReseller(leg)
      ? { ...sheetRowOf(leg, view), ...sheetRowOf(leg, { ...view, forReseller: false }) }
      : sheetRowOf(leg, view)
  let after: CdrPlace | undefined = position === undefined ? undefined : JSON.parse(position)
  for (;;) {
    const { items, next } = await legs.batch(scope, { after, limit: rowsOfAPart, descending, long: true })
    yield { rows: items.map(rowOf), position: next ? JSON.stringify(next) : atEnd }
    if (!next) return
    after = next
  }
}

const createExport = ({ cdrs, clock, resellerOf }: Deps): OutputAction => ({
  category: 'cdrs',
  action: 'export',
  description: 'Export call detail records of any range',
  doc: [
    'Writes the call detail records of the account that ended in the range, oldest first, with the columns of their CSV.',
    'The range may be longer than that of a list.',
  ].join('\n'),
  allow: accountMember,
  input: 'none',
  columns: columnsFor(true),
  hides: async ({ actor, account }) =>
    (await seesCosts(actor, account, resellerOf)) ? [] : columnsFor(true).filter(tellsCost),
  parameters: {
    created_from: 'Gregorian seconds; default: the maximum range of a list before created_to',
    created_to: 'Gregorian seconds; default: creation of the task',
    utc_offset: 'Seconds to add to the column datetime',
  },

  async settle(given) {
    const { maximumRange } = await cdrs.rules()
    const end = timeBound('created_to', given.created_to)
    const to = end ?? gregorianNow(clock)
    const from = timeBound('created_from', given.created_from) ?? Math.max(0, to - maximumRange)
    if (from > to) {
      const until = end === undefined ? 'now,' : 'created_to'
      throw badRange('created_from', `created_from ${from} is later than ${until} ${to}`, from)
    }
    const utcOffset = offsetIn(given)
    return {
      created_from: from,
      created_to: to,
      ...(utcOffset === undefined ? {} : { utc_offset: utcOffset }),
    }
  },

  async *parts(context, position) {
    const forReseller = await seesCosts(context.actor, context.account, resellerOf)
    yield* outputPartsOf(cdrs, context, { descending: false, forReseller }, position)
  },
})

const createDump = ({ cdrs, clock }: Deps): OutputAction => ({
  category: 'billing',
  action: 'dump',
  description: "Export this month's call detail records",
  doc: 'Writes the call detail records of the account from the beginning of the month (UTC) on, newest first.',
  allow: accountMember,
  input: 'none',
  columns: columnsFor(false),

  settle() {
    const now = gregorianNow(clock)
    return { created_from: beginningOfMonth(now), created_to: now }
  },

  parts: (context, position) =>
    outputPartsOf(cdrs, context, { descending: true, forReseller: false }, position),
})

export const createCdrTasks = (tools: Deps): OutputAction[] => [createExport(tools), createDump(tools)]
