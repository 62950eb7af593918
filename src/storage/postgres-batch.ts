import type pg from 'pg'
import type { Append, Insertion, Statement, Value, Write } from './db.ts'
import { commitInTwoPhases, countable } from './distribution/placements.ts'
import { isServerError, type Link } from './postgres-link.ts'
import { streamOf } from './postgres-servers.ts'
import { staleChannel } from './postgres-sessions.ts'
import { unnested } from './sql-words.ts'

export interface PendingWrite {
  write: Write
  attempts: number
  /** Runs alone after its batch failed, so that its result does not depend on others. */
  alone: boolean
  /** Not joined with rows of others, because such a statement failed. */
  apart: boolean
  resolve: () => void
  reject: (error: unknown) => void
}

export class BrokenBatch extends Error {
  readonly reason: unknown
  readonly culprit: PendingWrite | undefined

  constructor(reason: unknown, culprit: PendingWrite | undefined) {
    super('a transaction was broken off', { cause: reason })
    this.reason = reason
    this.culprit = culprit
  }
}

const manyRows = ({ table, ending }: Insertion, rows: readonly (readonly Value[])[]) => {
  const { from, params } = unnested(table.columns, rows)
  const names = Object.keys(table.columns).join(', ')
  return { sql: `INSERT INTO ${table.name} (${names}) SELECT * FROM ${from} ${ending}`.trimEnd(), params }
}

/** One statement for each table costs a fraction of one for each row. */
const appendStatements = (appends: readonly Append[]) =>
  [...Map.groupBy(appends, ({ table }) => table)].map(([table, added]) =>
    manyRows(
      { table, ending: '' },
      added.map(({ values }) => values),
    ),
  )

/** Whether a write only adds rows. */
const canBeJoined = ({ write: { statements }, apart }: PendingWrite) =>
  !apart && statements.length > 0 && statements.every(({ into, expect }) => into && (expect?.rows ?? 1) === 1)

const joinedRows = (entries: readonly PendingWrite[]) => {
  const joined = new Map<Insertion, { rows: (readonly Value[])[]; isExpected: boolean }>()
  for (const { into, params, expect } of entries.flatMap(({ write }) => write.statements)) {
    if (!into) continue
    const found = joined.get(into) ?? { rows: [], isExpected: false }
    found.rows.push(params)
    found.isExpected ||= expect !== undefined
    joined.set(into, found)
  }
  return [...joined].map(([into, { rows, isExpected }]) => ({
    ...manyRows(into, rows),
    expected: isExpected ? rows.length : undefined,
  }))
}

/** Sends a transaction except COMMIT at once and returns the row counts. Undefined if joined rows were not all added. */
export const sendTogether = async (
  lane: Link,
  client: pg.Client,
  batch: PendingWrite[],
  { payload, liesOnSeveral }: { payload: string | undefined; liesOnSeveral: boolean },
) => {
  const stream = streamOf(client)
  const textOf = liesOnSeveral ? countable : ({ sql }: Statement) => sql
  stream.cork()
  const begun = [
    lane.say(client, 'BEGIN'),
    ...(liesOnSeveral ? [lane.send(client, commitInTwoPhases, [])] : []),
  ]
  const candidates = liesOnSeveral ? [] : batch.filter(canBeJoined)
  const together = new Set(candidates.length > 1 ? candidates : [])
  const sent = batch.map((entry) =>
    together.has(entry)
      ? []
      : entry.write.statements.map((statement) => lane.send(client, textOf(statement), statement.params)),
  )
  const joined = joinedRows([...together]).map(({ sql, params, expected }) => ({
    answer: lane.send(client, sql, params),
    expected,
  }))
  const appended = appendStatements(batch.flatMap(({ write }) => write.appends ?? [])).map(
    ({ sql, params }) => lane.send(client, sql, params),
  )
  const notified = payload && lane.send(client, `SELECT pg_notify('${staleChannel}', $1)`, [payload])
  stream.uncork()
  const asked: { answer: Promise<unknown>; sender?: PendingWrite | undefined; isJoined?: boolean }[] = [
    ...begun.map((answer) => ({ answer })),
    ...sent.flatMap((answers, index) => answers.map((answer) => ({ answer, sender: batch[index] }))),
    ...joined.map(({ answer }) => ({ answer, isJoined: true })),
    ...[...appended, ...(notified ? [notified] : [])].map((answer) => ({ answer })),
  ]
  // All are awaited: a rejection left behind would be unhandled.
  const settled = await Promise.allSettled(asked.map(({ answer }) => answer))
  const at = settled.findIndex(({ status }) => status === 'rejected')
  const broken = settled[at]
  if (broken?.status === 'rejected' && asked[at]?.isJoined && isServerError(broken.reason)) return undefined
  if (broken?.status === 'rejected') throw new BrokenBatch(broken.reason, asked[at]?.sender)
  for (const { answer, expected } of joined)
    if (expected !== undefined && (await answer).rowCount !== expected) return undefined
  return Promise.all(
    sent.map(async (queries, index) => {
      const entry = batch[index]
      if (entry && together.has(entry)) return entry.write.statements.map(() => 1)
      return Promise.all(queries.map(async (query) => (await query).rowCount ?? 0))
    }),
  )
}
