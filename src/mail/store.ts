import { newId } from '../lib/ids.ts'
import type { Statement } from '../storage/db.ts'
import type { Store } from '../storage/store.ts'
import { integer, oneOf, type RowOf, table, text } from '../storage/table.ts'

export const outcomes = ['delivered', 'deferred', 'given_up'] as const

export type Outcome = (typeof outcomes)[number]

const attempts = table('mail_attempts', {
  accountId: text(),
  id: text(),
  /** Unix milliseconds. */
  at: integer(),
  letterId: text(),
  messageId: text(),
  notice: text(),
  recipient: text(),
  sender: text(),
  subject: text(),
  /** 1 for the first attempt. */
  number: integer(),
  outcome: oneOf(outcomes),
  /** What the mail server said, or why there was no answer. */
  reply: text(),
  /** `selector._domainkey.domain`, empty when it was not signed. */
  signedBy: text(),
})

/** What came of one attempt to deliver a letter. */
type Attempt = RowOf<typeof attempts>

const insert = attempts.insert()

/** The log of attempts to deliver letters. */
export const createAttemptRows = (store: Store) => ({
  add: (attempt: Omit<Attempt, 'id'>): Statement => insert({ ...attempt, id: newId(attempt.at) }),

  /** Fails while the log of an account is out of reach, as it is when the server is gone that it lies on. */
  reach: async (accountId: string) => {
    await store.all('SELECT 1 AS one FROM mail_attempts WHERE account_id = $1 LIMIT 1', [accountId])
  },
})
