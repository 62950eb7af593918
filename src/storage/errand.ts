import { currentTraceparent } from '../lib/trace.ts'
import { cacheKey, type Statement } from './db.ts'

/**
 * Something that is asked of the outside, or done later, because of a change: committed with it, and carried out
 * after it by `jobs/queue.ts`, until it has an end.
 */
export interface JobDraft<Payload = unknown> {
  kind: string
  /** Makes it one with every other of its kind that bears it: asked for again, there is still one. */
  id: string
  accountId: string
  /** Errands about one subject, of whatever kind, are carried out one after the other as they were asked for. */
  subject?: string
  /** Unix milliseconds; when absent, at once: then whoever carries it out is told of it, and need not look for it. */
  dueAt?: number
  payload: Payload
  /** What has asked for it, a `traceparent`: the work at hand when absent. */
  trace?: string | undefined
  /** What asking again means for one that waits: it is to be done at the new time, or at the one it has. */
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

/** The statement that keeps an errand. `now` in Unix milliseconds. */
export const errandStatement = (errand: JobDraft, now: number): Statement => {
  const { kind, id, accountId, subject = '', dueAt = now, payload, again = 'move' } = errand
  const { trace = currentTraceparent() } = errand
  const place = [kind, id, accountId, subject, dueAt, now]
  return { sql: insert, params: [...place, JSON.stringify(payload), again === 'keep' ? 1 : 0, trace ?? null] }
}

const workPrefix = cacheKey('system', 'work', '')

/** Goes stale when there is work of a kind: so every process learns of it, whichever carries it out. */
export const workKey = (kind: string) => workPrefix + kind

/** The kinds of which stale keys say that there is work. */
export const workIn = (keys: readonly string[]) =>
  new Set(keys.filter((key) => key.startsWith(workPrefix)).map((key) => key.slice(workPrefix.length)))
