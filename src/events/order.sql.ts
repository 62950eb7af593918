// PostgreSQL only: SQLite numbers entries when it writes them.
import { failure, lostLease } from '../lib/failure.ts'
import { evictOldest } from '../lib/forget-oldest.ts'
import { zip } from '../lib/list.ts'
import { type Head, maxHeads, middleOf, newestPlace, type Placed, placeOf } from '../storage/audit-log.ts'
import type { Statement } from '../storage/db.ts'
import type { Store } from '../storage/store.ts'
import { integer, type RowOf, shape, text } from '../storage/table.ts'

export const maxEventsPerBatch = 400

const waiting = shape({
  place: integer(),
  accountId: text(),
  action: text(),
  tree: text(),
  digest: text(),
  span: integer(),
})

const head = shape({ sequence: integer(), digest: text() })

type Waiting = RowOf<typeof waiting>

const placedShape = {
  place: 'integer',
  sequence: 'integer',
  digest: 'text',
  previous_digest: 'text',
} as const

const headShape = { account_id: 'text', sequence: 'integer', digest: 'text' } as const

const belowShape = { ancestor_id: 'text', sequence: 'integer' } as const

const outOfTurn = () => failure(lostLease, {})

/** Numbers entries in one order. Only one process at a time may do it; its cache is valid until one of its writes fails. */
export const createOrder = ({ all, words, writeUnrecorded }: Store) => {
  /** The last entry of each account's chain. */
  const heads = new Map<string, Head | undefined>()
  let last: number | undefined

  const readLast = async () => Number((await all(newestPlace))[0]?.sequence ?? 0)

  const readHead = async (accountId: string) => {
    if (heads.has(accountId)) return
    const sql = `SELECT ${head.columns} FROM audit_heads WHERE account_id = $1`
    heads.set(accountId, head.first(await all(sql, [accountId])))
  }

  const readWaiting = async () =>
    waiting.list(
      await all(
        `SELECT ${words.position} AS "place", account_id AS "accountId", action, coalesce(tree, '') AS tree, digest,
            coalesce(span, 1) AS span
          FROM audit_log WHERE sequence IS NULL ORDER BY ${words.position} LIMIT ${maxEventsPerBatch}`,
      ),
    )

  const placeAll = (rows: readonly Waiting[], begin: number) => {
    let end = begin
    return rows.map((row): Placed => {
      const placed = placeOf(row, end, heads.get(row.accountId))
      end = placed.sequence
      if (placed.head) heads.set(row.accountId, placed.head)
      return placed
    })
  }

  const statementsOf = (rows: readonly Waiting[], places: readonly Placed[]): Statement[] => {
    const both = [...zip(rows, places)]
    const placed = both.map(([{ place }, { sequence, digest, previousDigest: previous_digest }]) => ({
      place,
      sequence,
      digest,
      previous_digest,
    }))
    const below = both.flatMap(([{ tree }, { sequence }]) =>
      middleOf(tree).map((id) => ({ ancestor_id: id, sequence })),
    )
    const ends = new Map(
      both.flatMap(([{ accountId }, placed]) => (placed.head ? [[accountId, placed.head]] : [])),
    )
    const common = { params: [], orElse: outOfTurn }
    return [
      ...words.forEachRow({
        ...common,
        shape: placedShape,
        rows: placed,
        sql: (given) => `UPDATE audit_log
          SET sequence = given.sequence, digest = given.digest, previous_digest = given.previous_digest
          FROM ${given} WHERE audit_log.${words.position} = given.place AND audit_log.sequence IS NULL`,
      }),
      ...words.forEachRow({
        ...common,
        shape: headShape,
        rows: Array.from(ends, ([id, end]) => ({ account_id: id, ...end })),
        sql: (given) => `INSERT INTO audit_heads (account_id, sequence, digest)
          SELECT given.account_id, given.sequence, given.digest FROM ${given} WHERE true
          ON CONFLICT (account_id) DO UPDATE SET sequence = excluded.sequence, digest = excluded.digest`,
      }),
      ...words.forEachRow({
        ...common,
        shape: belowShape,
        rows: below,
        sql: (given) => `INSERT INTO feed_below (ancestor_id, sequence)
          SELECT given.ancestor_id, given.sequence FROM ${given} WHERE true`,
      }),
    ]
  }

  const forget = () => {
    heads.clear()
    last = undefined
  }

  return {
    /** Call it before the first entry: another process may have numbered some. */
    forget,

    /** Numbers one batch; returns its size. */
    async placeNext(guard: Statement, stale: readonly string[]): Promise<number> {
      const rows = await readWaiting()
      if (rows.length === 0) return 0
      const begin = last ?? (await readLast())
      await Promise.all([...new Set(rows.map(({ accountId }) => accountId))].map(readHead))
      const places = placeAll(rows, begin)
      try {
        await writeUnrecorded([guard, ...statementsOf(rows, places)], stale)
        last = places.at(-1)?.sequence
      } catch (error) {
        forget()
        throw error
      }
      while (heads.size > maxHeads) evictOldest(heads, maxHeads)
      return rows.length
    },
  }
}
