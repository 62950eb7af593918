import { evictOldest } from '../lib/forget-oldest.ts'
import { auditLog } from './audit-log.ts'
import type { Row, Value } from './db.ts'
import { type Head, maxHeads, middleOf, newestPlace, type Placed, placeOf, type Unplaced } from './placing.ts'
import type { createStatements } from './sqlite-statements.ts'
import { integer, shape, text } from './table.ts'

const { layout } = auditLog
const columns = Object.keys(layout.columns)
const digestAt = columns.indexOf('digest')
const [accountAt, actionAt, treeAt, spanAt] = ['account_id', 'action', 'tree', 'span'].map((column) =>
  columns.indexOf(column),
) as [number, number, number, number]

/** The statement that adds a row of the audit log with its place. */
const placedColumns = [...columns, 'sequence', 'previous_digest']
const placedAppend = `INSERT INTO ${layout.name} (${placedColumns.join(', ')})
  VALUES (${placedColumns.map(() => '?').join(', ')})`

const head = shape({ sequence: integer(), digest: text() })

const sql = {
  newest: newestPlace,
  head: `SELECT ${head.columns} FROM audit_heads WHERE account_id = ?1`,
  moveHead: `INSERT INTO audit_heads (account_id, sequence, digest) VALUES (?1, ?2, ?3)
    ON CONFLICT (account_id) DO UPDATE SET sequence = excluded.sequence, digest = excluded.digest`,
  tellBelow: 'INSERT INTO feed_below (ancestor_id, sequence) VALUES (?1, ?2)',
}

/**
 * Gives rows of the audit log their places as they are added: within the transaction that adds them, while nobody else
 * can write. What it remembers holds until a transaction is undone, or another process has written.
 */
export const createCommitOrder = (prepared: ReturnType<typeof createStatements>) => {
  const heads = new Map<string, Head | undefined>()
  const moved = new Set<string>()
  let last = 0
  let isSure = false

  const forget = () => {
    heads.clear()
    moved.clear()
    isSure = false
  }

  const makeSure = () => {
    if (isSure) return
    const newest = Number(prepared(sql.newest).get()?.sequence ?? 0)
    if (newest !== last) heads.clear()
    last = newest
    isSure = true
  }

  const headOf = (accountId: string) => {
    if (heads.has(accountId)) return heads.get(accountId)
    const row = prepared(sql.head).get(accountId)
    const found = row && head.read(row as Row)
    heads.set(accountId, found)
    return found
  }

  const next = (row: Unplaced): Placed => {
    makeSure()
    const placed = placeOf(row, last, headOf(row.accountId))
    last = placed.sequence
    if (placed.head) {
      heads.set(row.accountId, placed.head)
      moved.add(row.accountId)
    }
    for (const ancestor of middleOf(row.tree)) prepared(sql.tellBelow).run(ancestor, placed.sequence)
    return placed
  }

  const unplacedIn = (values: readonly Value[]): Unplaced => ({
    accountId: values[accountAt] as string,
    action: values[actionAt] as string,
    tree: (values[treeAt] ?? '') as string,
    digest: values[digestAt] as string,
    span: (values[spanAt] ?? 1) as number,
  })

  return {
    /** To be called when a transaction begins. */
    begin() {
      isSure = false
    },

    /** Adds a row of the audit log, whose values are in the order of its columns. */
    add(values: readonly Value[]) {
      const { sequence, digest, previousDigest } = next(unplacedIn(values))
      prepared(placedAppend).run(...values.with(digestAt, digest), sequence, previousDigest)
    },

    /** To be called before a transaction, or a part of it that may be undone, ends. */
    finish() {
      for (const accountId of moved) {
        const end = heads.get(accountId)
        if (end) prepared(sql.moveHead).run(accountId, end.sequence, end.digest)
      }
      moved.clear()
      while (heads.size > maxHeads) evictOldest(heads, maxHeads)
    },

    /** To be called when a transaction, or a part of it, was undone. */
    forget,
  }
}
