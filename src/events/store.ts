import { setTimeout as pause } from 'node:timers/promises'
import { inParts } from '../lib/list.ts'
import { newestPlace } from '../storage/audit-log.ts'
import type { Author } from '../storage/change-set.ts'
import type { Value } from '../storage/db.ts'
import { recordBytes, withWholeDocs } from '../storage/entry-docs.ts'
import type { Store } from '../storage/store.ts'
import { conditions, integer, json, optional, type RowOf, shape, text } from '../storage/table.ts'
import { callRecords } from './events.ts'

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

const { sequence, accountId, tree, event, kind, recordId, action, span } = leanColumns
const beginning = { sequence, accountId, tree, event, kind, recordId, action, span }

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
export const batchesOf = (rows: readonly HeadRow[]) => inParts(rows, maxBytes, ({ bytes }) => bytes)

// Entries get their sequence within moments, unless no process numbers them.
const sequenceTimeoutMs = 1000
const lookMs = 4

// A query with few matches looks at this many events, and returns where to continue.
const maxLookedThrough = 5000

/** Adds the conditions of a query to `params`, and returns them. */
const termsOf = ({ types = [], recordId, actorId, from, to }: EventQuery, params: Value[]) => {
  const { terms, add } = conditions(params)
  const isType = types.map((type) => {
    const place = `$${params.push(type.replace(/\.\*$/, ''))}`
    // The kind is the part before the dot, and the character after the dot is `/`.
    return type.endsWith('.*')
      ? `(event >= CAST(${place} AS TEXT) || '.' AND event < CAST(${place} AS TEXT) || '/')`
      : `event = ${place}`
  })
  terms.push(types.length === 0 ? `event <> '${callRecords}'` : `(${isType.join(' OR ')})`)
  add((place) => `record_id = ${place}`, recordId)
  add((place) => `actor_id = ${place}`, actorId)
  add((place) => `at >= ${place}`, from)
  add((place) => `at < ${place}`, to)
  return terms
}

const isNarrow = ({ types = [], recordId, actorId, from, to }: EventQuery) =>
  types.length > 0 || [recordId, actorId, from, to].some((one) => one !== undefined)

type Source = (range: string) => string

// Sequences of events: the part of a query after FROM.
const ofEverything: Source = (range) => `audit_log WHERE $1 <> '' AND ${range}`
const ofAccount: Source = (range) => `audit_log WHERE account_id = $1 AND ${range}`
const ofBelow: Source = (range) => `feed_below WHERE ancestor_id = $1 AND ${range}`

const sourcesOf = ({ below, isTop = false }: EventQuery) => {
  if (!below) return [ofAccount]
  return isTop ? [ofEverything] : [ofAccount, ofBelow]
}

const entriesOf = (source: Source, range: string) =>
  source === ofBelow ? `audit_log WHERE sequence IN (SELECT sequence FROM ${source(range)})` : source(range)

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
  const endOf = async (sources: readonly Source[], params: readonly Value[], most: number) => {
    const parts = sources.map(
      (source) =>
        `SELECT * FROM (SELECT sequence FROM ${source('sequence > $2')} ORDER BY 1 LIMIT ${most}) AS part`,
    )
    const [row] = await all(
      `SELECT max(sequence) AS last, count(*) AS count
        FROM (SELECT sequence FROM (${parts.join(' UNION ALL ')}) AS parts ORDER BY sequence LIMIT ${most}) AS found`,
      params,
    )
    return { last: Number(row?.last ?? 0), isFull: Number(row?.count) === most }
  }

  return {
    newest,

    /** Events up to this sequence have expired. */
    forgotten,

    async page(question: EventQuery) {
      const { accountId, limit } = question
      // Skips expired events.
      const begin = Math.max(question.after, await forgotten())
      const most = isNarrow(question) ? Math.max(maxLookedThrough, limit) : limit
      const sources = sourcesOf(question)
      const { last, isFull } = await endOf(sources, [accountId, begin], most)
      if (last === 0) return { heads: [], begin, last, isFull }
      const params = [accountId, begin, last]
      const terms = termsOf(question, params).join(' AND ')
      const selects = sources.map((source) => {
        const from = entriesOf(source, 'sequence > $2 AND sequence <= $3')
        return `SELECT ${headColumns} FROM ${from} AND event IS NOT NULL AND ${terms}`
      })
      const rows = await all(`${selects.join(' UNION ALL ')} ORDER BY 1 LIMIT ${limit}`, params)
      return { heads: heads.list(rows), begin, last, isFull }
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
      const sql = `SELECT 1 AS one FROM audit_log WHERE sequence IS NULL AND ${words.position} <= $1 LIMIT 1`
      const isWaiting = async () => (await all(sql, [Number(newest.place)])).length > 0
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
