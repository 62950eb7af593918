import { newId } from '../lib/ids.ts'
import type { Statement } from '../storage/db.ts'
import type { Store } from '../storage/store.ts'

export type Outcome = 'delivered' | 'deferred' | 'given_up'

/** What came of one attempt to deliver a letter. */
export interface AttemptRow {
  accountId: string
  /** Unix milliseconds. */
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

const insertAttempt = `INSERT INTO mail_attempts
  (account_id, id, at, letter_id, message_id, notice, recipient, sender, subject, number, outcome, reply, signed_by)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`

/** The log of attempts to deliver letters. */
export const createAttemptRows = ({ writeUnrecorded }: Store) => ({
  add: (attempt: AttemptRow): Statement => ({
    sql: insertAttempt,
    params: [
      attempt.accountId,
      newId(attempt.at),
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
  }),

  forgetBefore: (unixMs: number) =>
    writeUnrecorded([{ sql: 'DELETE FROM mail_attempts WHERE at < $1', params: [unixMs] }]),
})
