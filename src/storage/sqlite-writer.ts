import { type MessagePort, parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads'
import { messageOf } from '../lib/error-facts.ts'
import type { Value } from './db.ts'
import { noteCommit } from './sqlite-commits.ts'
import { openDurable } from './sqlite-open.ts'
import { createPlacing } from './sqlite-placing.ts'
import { createStatements } from './sqlite-statements.ts'
import { commitsAt, type FromWriter, type ToWriter } from './writer-seat.ts'

interface PostedStatement {
  sql: string
  params: readonly Value[]
  /** The number of rows that it must touch; undefined: any. */
  rows?: number | undefined
}

export interface PostedWrite {
  statements: readonly PostedStatement[]
  /** Rows of the audit log, which get their places as they are added. */
  entries: readonly (readonly Value[])[]
  /** The cache keys that it makes stale; none where nobody else is told. */
  stale: readonly string[]
}

/** What became of a write: done, the first statement that touched other rows than it had to, or an error. */
export type Outcome = 'done' | { broken: number } | { error: string }

interface WriterData {
  file: string
  processId: string
  /** Whether other processes are told what is stale. */
  tellsKeys: boolean
  commits: SharedArrayBuffer
}

// Runs in a worker thread: every write of this process to the embedded store. Waiting for the disk blocks nobody else.
// Each thread that hands it writes has a seat.
const { file, processId, tellsKeys, commits }: WriterData = workerData
const connection = openDurable(file)
const committed = new Int32Array(commits)

const prepared = createStatements(connection)
const placing = createPlacing(prepared)

/** The first statement that touched other rows than it had to; undefined when all is well. */
const apply = ({ statements, entries }: PostedWrite) => {
  for (const [index, { sql, params, rows }] of statements.entries()) {
    const { changes } = prepared(sql).run(...params)
    if (rows !== undefined && Number(changes) !== rows) return index
  }
  for (const entry of entries) placing.add(entry)
  return undefined
}

/** Counts a commit of what was done. */
const note = (done: readonly PostedWrite[]) =>
  noteCommit(prepared, processId, tellsKeys ? done.flatMap(({ stale }) => stale) : undefined)

const undoAll = () => {
  placing.forget()
  // A full disk or an I/O error may have ended the transaction by itself.
  if (connection.isTransaction) prepared('ROLLBACK').run()
}

const undoOne = () => {
  placing.forget()
  if (!connection.isTransaction) return
  prepared('ROLLBACK TO one').run()
  prepared('RELEASE one').run()
}

const attempt = (write: PostedWrite): Outcome => {
  prepared('SAVEPOINT one').run()
  try {
    const broken = apply(write)
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

/** The usual case, without the price of savepoints. Undefined when one failed: nothing has happened then. */
const runTogether = (writes: readonly PostedWrite[]): Outcome[] | undefined => {
  begin()
  try {
    if (writes.some((write) => apply(write) !== undefined)) {
      undoAll()
      return undefined
    }
    placing.finish()
  } catch {
    undoAll()
    return undefined
  }
  note(writes)
  prepared('COMMIT').run()
  return writes.map(() => 'done')
}

/** Each write has a savepoint, and so a verdict, of its own. */
const runEach = (writes: readonly PostedWrite[]): Outcome[] => {
  begin()
  const outcomes: Outcome[] = []
  for (const write of writes) {
    const outcome = attempt(write)
    // A full disk has ended the transaction: with this write those before it are undone, and nobody's is to follow.
    if (!connection.isTransaction) return writes.map(() => outcome)
    outcomes.push(outcome)
  }
  const done = writes.filter((_write, index) => outcomes[index] === 'done')
  if (done.length > 0) note(done)
  prepared(done.length > 0 ? 'COMMIT' : 'ROLLBACK').run()
  return outcomes
}

/** Whether the lock can be had; nothing is left behind, and no other process has to forget anything. */
const askForLock = (writes: readonly PostedWrite[]): Outcome[] => {
  prepared('BEGIN IMMEDIATE').run()
  prepared('ROLLBACK').run()
  return writes.map(() => 'done')
}

/** The writes of all batches share one durable commit. */
const run = (writes: readonly PostedWrite[]): Outcome[] => {
  try {
    if (writes.every(({ statements, entries }) => statements.length + entries.length === 0))
      return askForLock(writes)
    return runTogether(writes) ?? runEach(writes)
  } catch (error) {
    undoAll()
    return writes.map(() => ({ error: messageOf(error) }))
  }
}

/** What a seat has handed over, and what became of it. */
interface Order {
  seat: MessagePort
  writes: ToWriter
  outcomes: readonly Outcome[]
}

const seats: MessagePort[] = []

const tell = (seat: MessagePort, message: FromWriter) => seat.postMessage(message)

/**
 * Before anybody hears that it is committed, what it has made stale lies with all others, and the number of commits is
 * another one: whoever looks at the number behind that finds it.
 */
const publish = ({ seat, writes, outcomes }: Order) => {
  const stale = writes.flatMap((write, index) => (outcomes[index] === 'done' ? write.stale : []))
  if (stale.length > 0) for (const other of seats) if (other !== seat) tell(other, { stale })
}

/** What waits at the other seats goes along. */
const ordersBeside = (seat: MessagePort): Omit<Order, 'outcomes'>[] =>
  seats.flatMap((other) => {
    const received = other === seat ? undefined : receiveMessageOnPort(other)
    return received ? [{ seat: other, writes: received.message }] : []
  })

// Without a write for this time, in ms, the log is written back to the file: a copy of the file alone is complete then.
const idleMs = 500

const writeBack = () => {
  try {
    prepared('PRAGMA wal_checkpoint(PASSIVE)').get()
  } catch {
    // A full disk: the log still has everything, and the next pause tries again.
  }
}

const idle = setTimeout(writeBack, idleMs).unref()

const carryOut = (seat: MessagePort, batch: ToWriter) => {
  const orders = [{ seat, writes: batch }, ...ordersBeside(seat)]
  const outcomes = run(orders.flatMap(({ writes }) => writes))
  idle.refresh()
  let at = 0
  const settled = orders.map((order): Order => {
    const from = at
    at += order.writes.length
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
  seat.on('message', (batch: ToWriter) => carryOut(seat, batch))
  seat.on('close', () => {
    const at = seats.indexOf(seat)
    if (at >= 0) seats.splice(at, 1)
  })
})
