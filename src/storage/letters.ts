import type { Statement } from './db.ts'
import type { Store } from './store.ts'

/** A letter that waits to be sent. Times are Unix milliseconds. */
export interface LetterRow {
  accountId: string
  id: string
  notice: string
  recipient: string
  messageId: string
  /** What it says, encrypted: it may hold codes and links. Gone with the row when the letter is settled. */
  sealed: string
  created: number
  dueAt: number
  /** After it nobody has a use for the letter. */
  goodUntil: number
  tries: number
}

export type Outcome = 'delivered' | 'deferred' | 'given_up'

/** What came of one attempt to deliver a letter. */
export interface AttemptRow {
  accountId: string
  id: string
  at: number
  letterId: string
  messageId: string
  notice: string
  recipient: string
  sender: string
  subject: string
  /** 1 for the first attempt. */
  number: number
  outcome: Outcome
  /** What the mail server said, or why there was no answer. */
  reply: string
  /** `selector._domainkey.domain`, empty when it was not signed. */
  signedBy: string
}

const insertLetter = `INSERT INTO letters
  (account_id, id, notice, recipient, message_id, sealed, created, due_at, good_until, tries)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 0)`
const insertAttempt = `INSERT INTO mail_attempts
  (account_id, id, at, letter_id, message_id, notice, recipient, sender, subject, number, outcome, reply, signed_by)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`
const selectDue = `SELECT account_id, id, notice, recipient, message_id, sealed, created, due_at, good_until, tries
  FROM letters WHERE due_at <= $1 ORDER BY due_at, account_id, id LIMIT $2`

const attemptStatement = (attempt: AttemptRow): Statement => ({
  sql: insertAttempt,
  params: [
    attempt.accountId,
    attempt.id,
    attempt.at,
    attempt.letterId,
    attempt.messageId,
    attempt.notice,
    attempt.recipient,
    attempt.sender,
    attempt.subject,
    attempt.number,
    attempt.outcome,
    attempt.reply,
    attempt.signedBy,
  ],
})

/** Part of the change set of whatever caused the letter. */
export const letterStatement = (letter: Omit<LetterRow, 'tries'>): Statement => ({
  sql: insertLetter,
  params: [
    letter.accountId,
    letter.id,
    letter.notice,
    letter.recipient,
    letter.messageId,
    letter.sealed,
    letter.created,
    letter.dueAt,
    letter.goodUntil,
  ],
})

/** The rows behind mail/post.ts. */
export const createLetterRows = ({ all, writeUnrecorded }: Store) => ({
  async due(now: number, limit: number): Promise<LetterRow[]> {
    const rows = await all(selectDue, [now, limit])
    return rows.map((row) => ({
      accountId: row.account_id as string,
      id: row.id as string,
      notice: row.notice as string,
      recipient: row.recipient as string,
      messageId: row.message_id as string,
      sealed: row.sealed as string,
      created: row.created as number,
      dueAt: row.due_at as number,
      goodUntil: row.good_until as number,
      tries: row.tries as number,
    }))
  },

  async isAnyDue(now: number) {
    return (await all('SELECT id FROM letters WHERE due_at <= $1 LIMIT 1', [now])).length > 0
  },

  /** The letter is done with, for good or bad: only the attempt is remembered. */
  settle: (attempt: AttemptRow) =>
    writeUnrecorded([
      {
        sql: 'DELETE FROM letters WHERE account_id = $1 AND id = $2',
        params: [attempt.accountId, attempt.letterId],
      },
      attemptStatement(attempt),
    ]),

  defer: (attempt: AttemptRow, dueAt: number) =>
    writeUnrecorded([
      {
        sql: 'UPDATE letters SET due_at = $3, tries = $4 WHERE account_id = $1 AND id = $2',
        params: [attempt.accountId, attempt.letterId, dueAt, attempt.number],
      },
      attemptStatement(attempt),
    ]),

  forgetAttemptsBefore: (at: number) =>
    writeUnrecorded([{ sql: 'DELETE FROM mail_attempts WHERE at < $1', params: [at] }]),
})
