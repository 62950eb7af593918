import { setTimeout as pause } from 'node:timers/promises'
import { newestPlace } from '../storage/audit-log.ts'
import type { Author } from '../storage/change-set.ts'
import type { Value } from '../storage/db.ts'
import { recordBytes, withWholeDocs } from '../storage/entry-docs.ts'
import type { Store } from '../storage/store.ts'
import { integer, json, optional, type RowOf, shape, text } from '../storage/table.ts'
import { typeCondition } from './events.ts'

export interface EventQuery {
  accountId: string
  /** Also what is below the account. */
  below: boolean
  /** The sequence behind which it begins; 0: all that is kept. */
  after: number
  /** Most events of an answer. */
  limit: number
  /** `user.edited`, `user.*`; none: all but those that come on request. */
  types?: readonly string[]
  recordId?: string | undefined
  actorId?: string | undefined
  /** Also records as they were before. */
  withBefore?: boolean
  /** The account is the topmost one: what is below it is everything. */
  isTop?: boolean
  /** Unix milliseconds, from one, included, to the other, not included. */
  from?: number | undefined
  to?: number | undefined
}

/** The beginnings of an answer's rows, and how far it has looked. */
interface FoundRows {
  heads: HeadRow[]
  /** The sequence behind which the rows come. */
  begin: number
  /** The last sequence that was looked at. */
  last: number
  /** There is more behind that. */
  isFull: boolean
}

const leanColumns = {
  sequence: integer(),
  id: text(),
  accountId: text(),
  tree: optional(text()),
  at: integer(),
  event: text(),
  kind: text(),
  recordId: text(),
  recordName: optional(text()),
  action: text(),
  author: json<Author>(),
  afterDoc: optional(text()),
  baseId: optional(text()),
  span: optional(integer()),
} as const

const lean = shape(leanColumns)
const stored = shape({ ...leanColumns, beforeDoc: optional(text()) })

/** A row of the feed: an event, or many that are kept as one. */
export type FeedRow = RowOf<typeof stored>

const beginning = {
  sequence: integer(),
  accountId: text(),
  tree: optional(text()),
  event: text(),
  kind: text(),
  recordId: text(),
  action: text(),
  span: optional(integer()),
} as const

const beginnings = shape(beginning)

const heads = shape({
  ...beginning,
  /** JSON text: of what is many events the ids of their records. */
  ids: optional(text()),
  /** Of the records before and after it. */
  bytes: integer(),
})

const headColumns = `${beginnings.columns}, CASE WHEN span IS NOT NULL THEN after_doc END AS "ids",
  ${recordBytes} AS "bytes"`

/** As much of a row as decides who reads the rest. */
export type HeadRow = RowOf<typeof heads>

// So much of records is read at once, and at least one row.
const maxBytes = 8_000_000

/** Rows in parts that can be read at once. */
export const inParts = (rows: readonly HeadRow[]): HeadRow[][] => {
  const parts: HeadRow[][] = []
  let bytes = Number.POSITIVE_INFINITY
  for (const row of rows) {
    if (bytes + row.bytes > maxBytes) {
      parts.push([])
      bytes = 0
    }
    parts.at(-1)?.push(row)
    bytes += row.bytes
  }
  return parts
}

// Rows get their places within moments, unless nobody is there to give them.
const patienceMs = 1000
const lookMs = 4

// A question that finds little looks through this many events, and says where to go on.
const maxLookedThrough = 5000
/** The conditions of a question beside account and place; parameters are numbered from `next`. */
const conditionsOf = ({ types = [], recordId, actorId, from, to }: EventQuery, next: number) => {
  const { sql, params } = typeCondition(types, next)
  const found = { terms: [sql], params: [...params] as Value[] }
  const add = (term: (place: string) => string, value: Value | undefined) => {
    if (value === undefined) return
    found.terms.push(term(`$${next + found.params.length}`))
    found.params.push(value)
  }
  add((place) => `record_id = ${place}`, recordId)
  add((place) => `actor_id = ${place}`, actorId)
  add((place) => `at >= ${place}`, from)
  add((place) => `at < ${place}`, to)
  return found
}

const isNarrow = ({ types = [], recordId, actorId, from, to }: EventQuery) =>
  types.length > 0 || [recordId, actorId, from, to].some((one) => one !== undefined)

const inRange = 'sequence > $2 AND sequence <= $3'

const forgottenMark = "SELECT sequence FROM feed_marks WHERE name = 'forgotten'"

// What was forgotten need not be looked through.
const headsSql = `SELECT ${headColumns} FROM audit_log
  WHERE sequence > (SELECT max(sequence) FROM (SELECT CAST($1 AS BIGINT) AS sequence UNION ALL ${forgottenMark}) AS places)
    AND sequence <= $2 AND event IS NOT NULL
  ORDER BY sequence`

/** The rows of what is in order. */
export const createFeedRows = ({ all, words }: Store) => {
  const forgotten = async () => {
    const [row] = await all(forgottenMark)
    return Number(row?.sequence ?? 0)
  }

  const newest = async () => Number((await all(newestPlace))[0]?.sequence ?? 0)

  /** The last sequence that is looked at: of so many behind a place, of those that the sources have. */
  const endOf = async (sources: readonly string[], params: readonly Value[], most: number) => {
    const parts = sources.map((source) => `SELECT * FROM (SELECT ${source} ORDER BY 1 LIMIT ${most}) AS part`)
    const [row] = await all(
      `SELECT max(sequence) AS last, count(*) AS count
        FROM (SELECT sequence FROM (${parts.join(' UNION ALL ')}) AS parts ORDER BY sequence LIMIT ${most}) AS found`,
      params,
    )
    return { last: Number(row?.last ?? 0), isFull: Number(row?.count) === most }
  }

  /** Where to begin behind a place: what was forgotten need not be looked through. */
  const behindOf = async (after: number) => Math.max(after, await forgotten())

  const sourcesOf = (isTop: boolean, below: boolean) => {
    if (below && isTop) return ["audit_log.sequence FROM audit_log WHERE $1 <> '' AND sequence > $2"]
    const own = 'audit_log.sequence FROM audit_log WHERE account_id = $1 AND sequence > $2'
    return below
      ? [own, 'feed_below.sequence FROM feed_below WHERE ancestor_id = $1 AND sequence > $2']
      : [own]
  }

  const fromOf = (isTop: boolean, below: boolean) => {
    if (below && isTop) return [`audit_log WHERE $1 <> '' AND ${inRange}`]
    const own = `audit_log WHERE account_id = $1 AND ${inRange}`
    const theirs = `audit_log WHERE sequence IN
      (SELECT sequence FROM feed_below WHERE ancestor_id = $1 AND ${inRange})`
    return below ? [own, theirs] : [own]
  }

  return {
    newest,

    /** The sequence behind which events are kept. */
    forgotten,

    async page(question: EventQuery): Promise<FoundRows> {
      const { accountId, below, limit, isTop = false } = question
      const begin = await behindOf(question.after)
      const most = isNarrow(question) ? Math.max(maxLookedThrough, limit) : limit
      const { last, isFull } = await endOf(sourcesOf(isTop, below), [accountId, begin], most)
      if (last === 0) return { heads: [], begin, last, isFull }
      const { terms, params } = conditionsOf(question, 4)
      const selects = fromOf(isTop, below).map(
        (from) => `SELECT ${headColumns} FROM ${from} AND event IS NOT NULL AND ${terms.join(' AND ')}`,
      )
      const sql = `${selects.join(' UNION ALL ')} ORDER BY 1 LIMIT ${limit}`
      return { heads: heads.list(await all(sql, [accountId, begin, last, ...params])), begin, last, isFull }
    },

    /** The beginnings of everybody's rows behind a sequence, up to another if one is given. */
    headsBehind: async (after: number, limit: number, end = Number.MAX_SAFE_INTEGER): Promise<HeadRow[]> =>
      heads.list(await all(`${headsSql} LIMIT ${limit}`, [after, end])),

    /** Resolves when what was committed before has its place, or when that takes too long. */
    async settled() {
      const [newest] = await all(
        `SELECT max(${words.position}) AS "place" FROM audit_log WHERE sequence IS NULL`,
      )
      if (newest?.place === null || newest?.place === undefined) return
      // PostgreSQL only: SQLite gives an entry its place when it is written.
      const isWaiting = async () =>
        (
          await all(
            `SELECT 1 AS one FROM audit_log WHERE sequence IS NULL AND ${words.position} <= $1 LIMIT 1`,
            [Number(newest.place)],
          )
        ).length > 0
      for (let waitedMs = 0; waitedMs < patienceMs && (await isWaiting()); waitedMs += lookMs)
        await pause(lookMs)
    },

    /** Rows whole, in their order; records as they were before only if they are asked for, or were deleted. */
    async whole(wanted: readonly HeadRow[], withBefore: boolean): Promise<FeedRow[]> {
      if (wanted.length === 0) return []
      const before = withBefore ? 'before_doc' : "CASE WHEN action = 'deleted' THEN before_doc END"
      const sql = `SELECT ${lean.columns}, ${before} AS "beforeDoc" FROM audit_log
        WHERE sequence IN ${words.numbers('$1')} AND event IS NOT NULL ORDER BY sequence`
      const found = stored.list(await all(sql, [JSON.stringify(wanted.map(({ sequence }) => sequence))]))
      return withWholeDocs({ all, words }, found)
    },
  }
}
