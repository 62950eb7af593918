import type { StatementSync } from 'node:sqlite'
import { type MessagePort, parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads'
import { messageOf } from '../lib/error-facts.ts'
import { evictOldest } from '../lib/forget-oldest.ts'
import { elementAt } from '../lib/list.ts'
import {
  auditLog,
  type Head,
  maxHeads,
  middleOf,
  newestPlace,
  type Placed,
  placeOf,
  type Unplaced,
} from './audit-log.ts'
import type { Row, Value } from './db.ts'
import { noteCommit } from './sqlite-commits.ts'
import { createStatements, openDurable } from './sqlite-open.ts'
import { integer, shape, text } from './table.ts'
import {
  type Batch,
  commitsAt,
  type FromWriter,
  type PostedWrite,
  type WriteOutcome,
} from './writer-client.ts'

const { layout } = auditLog
const columns = Object.keys(layout.columns)
const digestAt = columns.indexOf('digest')
const [accountAt, actionAt, treeAt, spanAt] = ['account_id', 'action', 'tree', 'span'].map((column) =>
  columns.indexOf(column),
) as [number, number, number, number]

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
 * Orders rows of the audit log in the transaction that adds them. Its memory is valid until a rollback or a write of another process.
 */
const createCommitOrder = (prepared: ReturnType<typeof createStatements>) => {
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
    begin() {
      isSure = false
    },

    add(values: readonly Value[]) {
      const { sequence, digest, previousDigest } = next(unplacedIn(values))
      prepared(placedAppend).run(...values.with(digestAt, digest), sequence, previousDigest)
    },

    /** Before a transaction or savepoint ends. */
    finish() {
      for (const accountId of moved) {
        const end = heads.get(accountId)
        if (end) prepared(sql.moveHead).run(accountId, end.sequence, end.digest)
      }
      moved.clear()
      while (heads.size > maxHeads) evictOldest(heads, maxHeads)
    },

    /** After a rollback. */
    forget,
  }
}

interface Task extends PostedWrite {
  statementOf(text: number): StatementSync
}

interface WriterData {
  file: string
  processId: string
  tellsKeys: boolean
  commits: SharedArrayBuffer
}

// Runs in a thread: all writes of the process to the embedded store.
const { file, processId, tellsKeys, commits }: WriterData = workerData
const connection = openDurable(file)
const committed = new Int32Array(commits)

const prepared = createStatements(connection)
const placing = createCommitOrder(prepared)

const apply = ({ statements, entries, statementOf }: Task) => {
  for (const [index, { text, params, rows }] of statements.entries()) {
    const { changes } = statementOf(text).run(...params)
    if (rows !== undefined && Number(changes) !== rows) return index
  }
  for (const entry of entries) placing.add(entry)
  return undefined
}

const recordCommit = (done: readonly Task[]) =>
  noteCommit(prepared, processId, tellsKeys ? done.flatMap(({ stale }) => stale) : undefined)

const undoAll = () => {
  placing.forget()
  // A full disk or an I/O error may have ended the transaction.
  if (connection.isTransaction) prepared('ROLLBACK').run()
}

const undoOne = () => {
  placing.forget()
  if (!connection.isTransaction) return
  prepared('ROLLBACK TO one').run()
  prepared('RELEASE one').run()
}

const attempt = (task: Task): WriteOutcome => {
  prepared('SAVEPOINT one').run()
  try {
    const broken = apply(task)
    if (broken === undefined) {
      placing.finish()
      prepared('RELEASE one').run()
      return 'done'
    }
    undoOne()
    return { broken }
  } catch (error) {
    undoOne()
    return { error: messageOf(error) }
  }
}

const begin = () => {
  prepared('BEGIN IMMEDIATE').run()
  placing.begin()
}

/** Without savepoints. Undefined if a write failed: nothing was changed. */
const runTogether = (tasks: readonly Task[]): WriteOutcome[] | undefined => {
  begin()
  try {
    if (tasks.some((task) => apply(task) !== undefined)) {
      undoAll()
      return undefined
    }
    placing.finish()
  } catch {
    undoAll()
    return undefined
  }
  recordCommit(tasks)
  prepared('COMMIT').run()
  return tasks.map(() => 'done')
}

/** A savepoint and a result for each write. */
const runEach = (tasks: readonly Task[]): WriteOutcome[] => {
  begin()
  const outcomes: WriteOutcome[] = []
  for (const task of tasks) {
    const outcome = attempt(task)
    // A full disk has ended the transaction with all writes before.
    if (!connection.isTransaction) return tasks.map(() => outcome)
    outcomes.push(outcome)
  }
  const done = tasks.filter((_task, index) => outcomes[index] === 'done')
  if (done.length > 0) recordCommit(done)
  prepared(done.length > 0 ? 'COMMIT' : 'ROLLBACK').run()
  return outcomes
}

/** Only tests the lock. */
const askForLock = (tasks: readonly Task[]): WriteOutcome[] => {
  prepared('BEGIN IMMEDIATE').run()
  prepared('ROLLBACK').run()
  return tasks.map(() => 'done')
}

const run = (tasks: readonly Task[]): WriteOutcome[] => {
  try {
    if (tasks.every(({ statements, entries }) => statements.length + entries.length === 0))
      return askForLock(tasks)
    return runTogether(tasks) ?? runEach(tasks)
  } catch (error) {
    undoAll()
    return tasks.map(() => ({ error: messageOf(error) }))
  }
}

interface Order {
  seat: MessagePort
  tasks: readonly Task[]
  outcomes: readonly WriteOutcome[]
}

const seats: MessagePort[] = []

const tell = (seat: MessagePort, message: FromWriter) => seat.postMessage(message)

/**
 * Other threads get the stale keys, and the counter changes, before a commit is reported: who sees the counter finds the keys.
 */
const publish = ({ seat, tasks, outcomes }: Order) => {
  const stale = tasks.flatMap((task, index) => (outcomes[index] === 'done' ? task.stale : []))
  if (stale.length > 0) for (const other of seats) if (other !== seat) tell(other, { stale })
}

const orderOf = (seat: MessagePort, { texts, writes }: Batch): Omit<Order, 'outcomes'> => {
  const known: StatementSync[] = []
  // Prepared when needed: an earlier statement may create the table, and a wrong text fails only its write.
  const statementOf = (text: number) => {
    const statement = known[text] ?? prepared(elementAt(texts, text))
    known[text] = statement
    return statement
  }
  return { seat, tasks: writes.map((write) => ({ ...write, statementOf })) }
}

const ordersBeside = (seat: MessagePort): Omit<Order, 'outcomes'>[] =>
  seats.flatMap((other) => {
    const received = other === seat ? undefined : receiveMessageOnPort(other)
    return received ? [orderOf(other, received.message)] : []
  })

// After this time without a write, in ms, the log is written back: then a copy of the file alone is complete.
const idleMs = 500

const writeBack = () => {
  try {
    prepared('PRAGMA wal_checkpoint(PASSIVE)').get()
  } catch {
    // A full disk: the next pause tries again.
  }
}

const idle = setTimeout(writeBack, idleMs).unref()

const carryOut = (seat: MessagePort, batch: Batch) => {
  const orders = [orderOf(seat, batch), ...ordersBeside(seat)]
  const outcomes = run(orders.flatMap(({ tasks }) => tasks))
  idle.refresh()
  let at = 0
  const settled = orders.map((order): Order => {
    const from = at
    at += order.tasks.length
    return { ...order, outcomes: outcomes.slice(from, at) }
  })
  if (seats.length > 1) {
    settled.forEach(publish)
    Atomics.add(committed, commitsAt, 1)
  }
  for (const order of settled) tell(order.seat, { outcomes: order.outcomes })
}

parentPort?.on('message', ({ port: seat }: { port: MessagePort }) => {
  seats.push(seat)
  tell(seat, { isSeated: true })
  seat.on('message', (batch: Batch) => carryOut(seat, batch))
  seat.on('close', () => {
    const at = seats.indexOf(seat)
    if (at >= 0) seats.splice(at, 1)
  })
})
