import type { ArchivedMonths, MonthRange } from '../../../storage/monthly.ts'
import type { Store } from '../../../storage/store.ts'
import type { ArchiveReading } from '../archive/reading.ts'
import type { ArchivedPart } from '../archive/rules.ts'
import type { CdrRow } from '../columns.ts'
import { createConditions } from '../filters/store.ts'
import {
  type MonthBounds,
  monthsOfLegs,
  type Place,
  type Stretch,
  stretchesBehind,
  stretchesOf,
} from '../reading/rules.ts'
import {
  createParams,
  heldBy,
  legOrder,
  orderBy,
  type Params,
  rangeOf,
  type Scope,
} from '../reading/store.ts'

/** A stretch of a window whose legs are read together. */
export interface Part {
  scope: Scope
  stretch: Stretch
  archived: ArchivedMonths
  after: Place | undefined
  descending: boolean
}

/** To this place, which belongs to it, or to the end. */
export type Bounded<P> = P & { until: Place | undefined }

/** What a scope is about at the moment. */
export interface Sight {
  /** In the order of reading. */
  stretches: Stretch[]
  /** What lies in files. */
  parts: readonly ArchivedPart[]
  /** The months that had files then. */
  archived: ArchivedMonths
}

export const monthsOf = ({ stretch: { months }, archived }: Part): MonthRange => ({
  first: Math.min(...months),
  last: Math.max(...months),
  archived,
})

export const liesInFiles = ({ from, to }: Stretch, parts: readonly ArchivedPart[]) =>
  parts.some(({ first, last }) => first <= to && last >= from)

export type Parts = ReturnType<typeof createParts>

/** Where the legs of a window stand, in the store and in files, and the statements that read them part by part. */
export const createParts = (store: Store, archive?: ArchiveReading) => {
  const { cdrs, words } = store
  const conditions = createConditions(words)

  const inPart = <T>(part: Part, query: (from: string) => Promise<T>) => cdrs.read(monthsOf(part), query)

  /** The two ends of each month's part of an index: a few microseconds a month. */
  const boundsOf = (scope: Scope, archived: ArchivedMonths): Promise<MonthBounds[]> =>
    cdrs.read({ ...monthsOfLegs(scope), archived }, async (_from, months) => {
      if (months.length === 0) return []
      const { params, mark } = createParams()
      const condition = `${heldBy(scope, mark)} AND ${rangeOf(scope, legOrder, { descending: true }, mark)}`
      const ends = months.map((month) => {
        const end = (name: string) =>
          `(SELECT ${name}(created) FROM ${cdrs.from([month])} WHERE ${condition})`
        return `SELECT ${month} AS month, ${end('min')} AS first, ${end('max')} AS last`
      })
      const found = await store.all<MonthBounds | { first: null }>(ends.join(' UNION ALL '), params)
      return found.filter((bounds): bounds is MonthBounds => bounds.first !== null)
    })

  const sightOf = async (scope: Scope, after: Place | undefined, descending: boolean): Promise<Sight> => {
    // Before the files: what is archived behind this is missed in the store, and all is read again.
    const archived = await cdrs.archivedMonths()
    const found = (await archive?.partsOf(scope.accountId, monthsOfLegs(scope))) ?? []
    const parts = found.filter(({ first, last }) => first <= scope.to && last >= scope.from)
    const inFiles = parts.map(({ month, first, last }) => ({
      month,
      first: Math.max(first, scope.from),
      last: Math.min(last, scope.to),
    }))
    const stretches = stretchesOf([...(await boundsOf(scope, archived)), ...inFiles])
    return { stretches: stretchesBehind(stretches, after, descending), parts, archived }
  }

  /** The place of the record that so many others precede; undefined: the stretch ends before it. */
  const placeAfter = async (
    part: Part,
    records: number,
    scan: Store['scan'] = store.scan,
  ): Promise<Place | undefined> => {
    const { scope, stretch, after, descending } = part
    const { params, mark } = createParams()
    const rows = `${heldBy(scope, mark)} AND ${rangeOf(stretch, legOrder, { after, descending }, mark)}`
    const order = orderBy(legOrder, descending)
    // An offset that does not grow from page to page, counted along the index alone.
    const [row] = await inPart(part, (from) =>
      scan<Pick<CdrRow, 'created' | 'id'>>(
        `SELECT created, id FROM ${from} WHERE ${rows} ${order} LIMIT 1 OFFSET ${records - 1}`,
        params,
      ),
    )
    return row && { time: row.created, mark: row.id }
  }

  /** The statement that reads a part, from FROM on, for whatever stands behind that. */
  const statementOf = (part: Bounded<Part>, { mark }: Pick<Params, 'mark'>) => {
    const { scope, stretch, after, until, descending } = part
    const rows = `${heldBy(scope, mark)} AND ${rangeOf(stretch, legOrder, { after, until, descending }, mark)}`
    const filters = scope.questions
      .map((question) => ` AND (${conditions.conditionOf(question, mark)})`)
      .join('')
    return (from: string) => `FROM ${from} WHERE ${rows}${filters} ${orderBy(legOrder, descending)}`
  }

  /** A part cut into pieces of so many records each, the last one shorter. */
  async function* cut(
    part: Part,
    { records, scan }: { records: number; scan: Store['scan'] },
  ): AsyncGenerator<Bounded<Part>> {
    let { after } = part
    do {
      const until = await placeAfter({ ...part, after }, records, scan)
      yield { ...part, after, until }
      after = until
    } while (after)
  }

  return { isCondition: conditions.isCondition, inPart, sightOf, placeAfter, statementOf, cut }
}
