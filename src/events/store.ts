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
  /** Includes sub-accounts. */
  below: boolean
  /** The sequence after which it begins; 0: all. */
  after: number
  limit: number
  /** `user.edited`, `user.*`; none: all except those on request. */
  types?: readonly string[]
  recordId?: string | undefined
  actorId?: string | undefined
  withBefore?: boolean
  /** The master account: its sub-accounts are all accounts. */
  isTop?: boolean
  /** Unix milliseconds; `to` is excluded. */
  from?: number | undefined
  to?: number | undefined
}

interface FoundRows {
  heads: HeadRow[]
  begin: number
  last: number
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

/** One event, or many events in one row. */
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
  /** JSON text: the ids of the records of many events. */
  ids: optional(text()),
  /** Size of the records before and after. */
  bytes: integer(),
})

const headColumns = `${beginnings.columns}, CASE WHEN span IS NOT NULL THEN after_doc END AS "ids",
  ${recordBytes} AS "bytes"`

export type HeadRow = RowOf<typeof heads>

// Bytes of records that are read together, at least one row.
const maxBytes = 8_000_000

/** Batches that fit `maxBytes`. */
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

// Entries get their sequence within moments, unless no process numbers them.
const sequenceTimeoutMs = 1000
const lookMs = 4

// A query with few matches looks at this many events, and returns where to continue.
const maxLookedThrough = 5000
/** Parameters are numbered from `next`. */
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

// Skips expired events.
const headsSql = `SELECT ${headColumns} FROM audit_log
  WHERE sequence > (SELECT max(sequence) FROM (SELECT CAST($1 AS BIGINT) AS sequence UNION ALL ${forgottenMark}) AS places)
    AND sequence <= $2 AND event IS NOT NULL
  ORDER BY sequence`

export const createFeedRows = ({ all, words }: Store) => {
  const forgotten = async () => {
    const [row] = await all(forgottenMark)
    return Number(row?.sequence ?? 0)
  }

  const newest = async () => Number((await all(newestPlace))[0]?.sequence ?? 0)

  /** The last sequence of a limited number of rows of the sources. */
  const endOf = async (sources: readonly string[], params: readonly Value[], most: number) => {
    const parts = sources.map((source) => `SELECT * FROM (SELECT ${source} ORDER BY 1 LIMIT ${most}) AS part`)
    const [row] = await all(
      `SELECT max(sequence) AS last, count(*) AS count
        FROM (SELECT sequence FROM (${parts.join(' UNION ALL ')}) AS parts ORDER BY sequence LIMIT ${most}) AS found`,
      params,
    )
    return { last: Number(row?.last ?? 0), isFull: Number(row?.count) === most }
  }

  /** Skips expired events. */
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

    /** Events up to this sequence have expired. */
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

    /** Rows of all accounts. */
    headsBehind: async (after: number, limit: number, end = Number.MAX_SAFE_INTEGER): Promise<HeadRow[]> =>
      heads.list(await all(`${headsSql} LIMIT ${limit}`, [after, end])),

    /** Resolves when earlier commits have their sequence, or after a timeout. */
    async settled() {
      const [newest] = await all(
        `SELECT max(${words.position}) AS "place" FROM audit_log WHERE sequence IS NULL`,
      )
      if (newest?.place === null || newest?.place === undefined) return
      // PostgreSQL only: SQLite numbers entries when it writes them.
      const isWaiting = async () =>
        (
          await all(
            `SELECT 1 AS one FROM audit_log WHERE sequence IS NULL AND ${words.position} <= $1 LIMIT 1`,
            [Number(newest.place)],
          )
        ).length > 0
      for (let waitedMs = 0; waitedMs < sequenceTimeoutMs && (await isWaiting()); waitedMs += lookMs)
        await pause(lookMs)
    },

    /** Records before a change only on request, or if they were deleted. */
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
