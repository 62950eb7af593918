import { unixOfGregorian } from '../lib/gregorian.ts'
import { newId } from '../lib/ids.ts'
import type { Statement } from '../storage/db.ts'
import type { Store } from '../storage/store.ts'
import { integer, keyset, oneOf, type RowOf, table, text } from '../storage/table.ts'

const outcomes = ['delivered', 'deferred', 'given_up'] as const

export type AttemptOutcome = (typeof outcomes)[number]

const attemptTable = table('mail_attempts', {
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
  /** Reply of the mail server, or why there was none. */
  reply: text(),
  /** `selector._domainkey.domain`, empty without a signature. */
  signedBy: text(),
})

export type MailAttempt = RowOf<typeof attemptTable>

interface AttemptPage {
  accountId: string
  /** Gregorian seconds, both inclusive. */
  from: number
  to: number
  /** Id of the last attempt of the page before. */
  after: string | undefined
  limit: number
  descending: boolean
}

/** Ids begin with their time: all ids of this second and later sort behind this text. */
const idAt = (gregorianSeconds: number) =>
  Math.max(0, unixOfGregorian(gregorianSeconds) * 1000)
    .toString(16)
    .padStart(12, '0')

const insertAttempt = attemptTable.insert()

/** The log of attempts to deliver mails. */
export const createMailAttempts = ({ all }: Store) => ({
  add: (attempt: Omit<MailAttempt, 'id'>): Statement => insertAttempt({ ...attempt, id: newId(attempt.at) }),

  /** Fails if the server that stores the account's log is unreachable. */
  reach: async (accountId: string) => {
    await all('SELECT 1 AS one FROM mail_attempts WHERE account_id = $1 LIMIT 1', [accountId])
  },

  async page({ accountId, from, to, after, limit, descending }: AttemptPage): Promise<MailAttempt[]> {
    const { behind, order } = keyset(['id'], descending)
    const sql = `SELECT ${attemptTable.columns} FROM mail_attempts
      WHERE account_id = $1 AND id >= $2 AND id < $3 AND ${behind(4)} ORDER BY ${order} LIMIT $5`
    // 'g' sorts behind every id.
    const place = after ?? (descending ? 'g' : '')
    return attemptTable.list(await all(sql, [accountId, idAt(from), idAt(to + 1), place, limit]))
  },

  async find(accountId: string, id: string): Promise<MailAttempt | undefined> {
    const sql = `SELECT ${attemptTable.columns} FROM mail_attempts WHERE account_id = $1 AND id = $2`
    return attemptTable.first(await all(sql, [accountId, id]))
  },
})
