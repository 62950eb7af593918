import { parentPort, workerData } from 'node:worker_threads'
import { messageOf } from '../lib/error-facts.ts'
import { elementAt } from '../lib/list.ts'
import { type PostedWrite, type PostedWrites, placedText, readPosted } from './posted-writes.ts'
import { openDurable } from './sqlite-open.ts'
import { createPlacing } from './sqlite-placing.ts'
import { createStatements } from './sqlite-statements.ts'
import type { Numbered } from './worker-link.ts'

export interface Batch {
  /** Statement texts that the writer has not seen: their numbers go on from the last ones. */
  newTexts: readonly string[]
  writes: PostedWrites
}

/** What became of a write: done, the first statement that touched other rows than it had to, or an error. */
export type Outcome = 'done' | { broken: number } | { error: string }

// Runs in a worker thread: every write of this process to the embedded store. Waiting for the disk blocks nobody else.
const { file, processId }: { file: string; processId: string } = workerData
const connection = openDurable(file)
const texts: string[] = []

const prepared = createStatements(connection)
const placing = createPlacing(prepared)

// Other processes of the same file tell by the counters of others whether they have to forget what they cached.
const countCommit =
  'INSERT INTO writers (process, commits) VALUES (?1, 1) ON CONFLICT (process) DO UPDATE SET commits = commits + 1'

/** The first statement that touched other rows than it had to; undefined when all is well. */
const apply = (write: PostedWrite) => {
  let index = 0
  for (const { text, params, rows } of write.statements()) {
    if (text === placedText) placing.add(params)
    else {
      const { changes } = prepared(elementAt(texts, text)).run(...params)
      if (rows !== undefined && Number(changes) !== rows) return index
    }
    index += 1
  }
  return undefined
}

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

/** What was added without a place gets it before anything new does: in parts, so that none takes long. */
const placeWaiting = () => {
  while (placing.isAnyWaiting()) {
    begin()
    placing.placeWaiting()
    placing.finish()
    prepared(countCommit).run(processId)
    prepared('COMMIT').run()
  }
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
  prepared(countCommit).run(processId)
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
  const isChanged = outcomes.includes('done')
  if (isChanged) prepared(countCommit).run(processId)
  prepared(isChanged ? 'COMMIT' : 'ROLLBACK').run()
  return outcomes
}

const isPlacing = (writes: readonly PostedWrite[]) => writes.some((write) => write.hasText(placedText))

// The first write behind a store's upgrades puts in order what an older version has left.
let hasLooked = false

/** Whether the lock can be had; nothing is left behind, and no other process has to forget anything. */
const askForLock = (writes: readonly PostedWrite[]): Outcome[] => {
  prepared('BEGIN IMMEDIATE').run()
  prepared('ROLLBACK').run()
  return writes.map(() => 'done')
}

/** The writes of a batch share one durable commit. */
const run = ({ newTexts, writes: posted }: Batch): Outcome[] => {
  texts.push(...newTexts)
  const writes = readPosted(posted)
  try {
    if (writes.every((write) => write.length === 0)) return askForLock(writes)
    const isFirst = !hasLooked && placing.isPossible()
    if (isFirst || isPlacing(writes)) placeWaiting()
    hasLooked ||= isFirst
    return runTogether(writes) ?? runEach(writes)
  } catch (error) {
    undoAll()
    return writes.map(() => ({ error: messageOf(error) }))
  }
}

parentPort?.on('message', ({ number, content }: Numbered<Batch>) => {
  parentPort?.postMessage({ number, content: run(content) })
})
