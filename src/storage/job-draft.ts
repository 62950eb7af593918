import { currentTraceparent } from '../lib/trace.ts'
import { cacheKey, type Statement } from './db.ts'

/** A side effect: committed with a change and executed afterwards by `jobs/queue.ts`. */
export interface JobDraft<Payload = unknown> {
  kind: string
  /** Jobs of one kind and id are one. */
  id: string
  accountId: string
  /** Jobs with one subject run one after the other. */
  subject?: string
  /** Unix milliseconds. Absent: now, and its worker is woken. */
  dueAt?: number
  payload: Payload
  /** A `traceparent`; that of the current request when absent. */
  trace?: string | undefined
  /** Whether a waiting job gets the new time. */
  again?: 'move' | 'keep'
}

const insert = `INSERT INTO work
    (kind, id, account_id, subject, sequence, state, due_at, since, attempts, marks, payload, outcome, finished_at, trace)
  VALUES ($1, $2, $3, $4,
    CASE WHEN CAST($4 AS TEXT) = '' THEN 0 ELSE
      (SELECT coalesce(max(w.sequence), 0) + 1 FROM work w WHERE w.subject = $4 AND w.subject <> '' AND w.state = 'waiting') END,
    'waiting', $5, $6, 0, 1, $7, '', 0, $9)
  ON CONFLICT (kind, id) DO UPDATE SET
    due_at = CASE WHEN work.state = 'waiting' AND CAST($8 AS INTEGER) = 1 THEN work.due_at ELSE excluded.due_at END,
    since = CASE WHEN work.state = 'waiting' THEN work.since ELSE excluded.since END,
    sequence = CASE WHEN work.state = 'waiting' THEN work.sequence ELSE excluded.sequence END,
    attempts = CASE WHEN work.state = 'waiting' THEN work.attempts ELSE 0 END,
    account_id = excluded.account_id, subject = excluded.subject, payload = excluded.payload,
    state = 'waiting', marks = work.marks + 1, outcome = '', finished_at = 0, trace = excluded.trace`

/** `now` in Unix milliseconds. */
export const jobStatement = (job: JobDraft, now: number): Statement => {
  const { kind, id, accountId, subject = '', dueAt = now, payload, again = 'move' } = job
  const { trace = currentTraceparent() } = job
  const place = [kind, id, accountId, subject, dueAt, now]
  return { sql: insert, params: [...place, JSON.stringify(payload), again === 'keep' ? 1 : 0, trace ?? null] }
}

const workPrefix = cacheKey('system', 'work', '')

/** Becomes stale when there is a job: this wakes all processes. */
export const workKey = (kind: string) => workPrefix + kind

export const workIn = (keys: readonly string[]) =>
  new Set(keys.filter((key) => key.startsWith(workPrefix)).map((key) => key.slice(workPrefix.length)))
