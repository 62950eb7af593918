import { unixOfGregorian } from '../../lib/gregorian.ts'
import type { Row } from '../../storage/db.ts'
import type { Outcome } from '../../storage/letters.ts'
import type { Store } from '../../storage/store.ts'

/** What came of one attempt to deliver a letter. */
export interface AttemptEntry {
  id: string
  /** Unix milliseconds. */
  at: number
  messageId: string
  notice: string
  recipient: string
  sender: string
  subject: string
  number: number
  outcome: Outcome
  reply: string
  signedBy: string
}

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

const columns = 'id, at, message_id, notice, recipient, sender, subject, number, outcome, reply, signed_by'

const toEntry = (row: Row): AttemptEntry => ({
  id: row.id as string,
  at: row.at as number,
  messageId: row.message_id as string,
  notice: row.notice as string,
  recipient: row.recipient as string,
  sender: row.sender as string,
  subject: row.subject as string,
  number: row.number as number,
  outcome: row.outcome as Outcome,
  reply: row.reply as string,
  signedBy: row.signed_by as string,
})

/** Ids begin with their time: the id that none made before this second comes behind. */
const idAt = (gregorianSeconds: number) =>
  Math.max(0, unixOfGregorian(gregorianSeconds) * 1000)
    .toString(16)
    .padStart(12, '0')

const pageSql = (descending: boolean) => `SELECT ${columns} FROM mail_attempts
  WHERE account_id = $1 AND id >= $2 AND id < $3 AND id ${descending ? '<' : '>'} $4
  ORDER BY id ${descending ? 'DESC' : 'ASC'} LIMIT $5`

// Before and behind every id.
const first = ''
const last = 'g'

/** The log that mail/post.ts writes. */
export const createAttemptLog = ({ all }: Store) => ({
  async page({ accountId, from, to, after, limit, descending }: AttemptPage): Promise<AttemptEntry[]> {
    const place = after ?? (descending ? last : first)
    return (await all(pageSql(descending), [accountId, idAt(from), idAt(to + 1), place, limit])).map(toEntry)
  },

  async find(accountId: string, id: string): Promise<AttemptEntry | undefined> {
    const [row] = await all(`SELECT ${columns} FROM mail_attempts WHERE account_id = $1 AND id = $2`, [
      accountId,
      id,
    ])
    return row && toEntry(row)
  },
})
