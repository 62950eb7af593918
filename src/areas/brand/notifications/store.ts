import { unixOfGregorian } from '../../../lib/gregorian.ts'
import { outcomes } from '../../../mail/store.ts'
import type { Store } from '../../../storage/store.ts'
import { integer, keyset, oneOf, type RowOf, table, text } from '../../../storage/table.ts'

const attempts = table('mail_attempts', {
  id: text(),
  /** Unix milliseconds. */
  at: integer(),
  messageId: text(),
  notice: text(),
  recipient: text(),
  sender: text(),
  subject: text(),
  number: integer(),
  outcome: oneOf(outcomes),
  reply: text(),
  signedBy: text(),
})

/** What came of one attempt to deliver a letter. */
export type AttemptEntry = RowOf<typeof attempts>

interface AttemptPage {
  accountId: string
  /** Gregorian seconds, both inclusive. */
  from: number
  to: number
  /** The id that the page begins behind. */
  after: string | undefined
  limit: number
  descending: boolean
}

/** Ids begin with their time: the id that none made before this second comes behind. */
const idAt = (gregorianSeconds: number) =>
  Math.max(0, unixOfGregorian(gregorianSeconds) * 1000)
    .toString(16)
    .padStart(12, '0')

const pageSql = (descending: boolean) => {
  const { behind, order } = keyset(['id'], descending)
  return `SELECT ${attempts.columns} FROM mail_attempts
    WHERE account_id = $1 AND id >= $2 AND id < $3 AND ${behind(4)} ORDER BY ${order} LIMIT $5`
}

// Before and behind every id.
const first = ''
const last = 'g'

/** The log that mail/post.ts writes. */
export const createAttemptLog = ({ all }: Store) => ({
  async page({ accountId, from, to, after, limit, descending }: AttemptPage): Promise<AttemptEntry[]> {
    const place = after ?? (descending ? last : first)
    const params = [accountId, idAt(from), idAt(to + 1), place, limit]
    return attempts.list(await all(pageSql(descending), params))
  },

  async find(accountId: string, id: string): Promise<AttemptEntry | undefined> {
    return attempts.first(
      await all(`SELECT ${attempts.columns} FROM mail_attempts WHERE account_id = $1 AND id = $2`, [
        accountId,
        id,
      ]),
    )
  },
})
