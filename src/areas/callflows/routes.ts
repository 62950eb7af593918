import { hash } from 'node:crypto'
import type { AccountRecord } from '../../auth/identity.ts'
import { accountMember } from '../../auth/policies.ts'
import { collectionListing, keptListing, type Listing } from '../../http/answer/listing.ts'
import type { Question } from '../../lib/question.ts'
import type { ListRow } from '../../storage/records.ts'
import { everyOperation, recordRoutes } from '../record-routes.ts'
import type { CallflowRecord, Callflows } from './operations.ts'
import { CallflowRow } from './schema.ts'

/** Records that are at hand in the order of their list, a page of them. */
const pageOf =
  (records: readonly CallflowRecord[]) =>
  async ({
    after,
    limit,
    descending,
  }: {
    after?: readonly [string, string]
    limit: number
    descending: boolean
  }) => {
    const ordered = descending ? records.toReversed() : records
    const isBehind = ({ sortKey, id }: CallflowRecord) => {
      if (!after) return true
      const order = sortKey === after[0] ? [id, after[1]] : [sortKey, after[0]]
      const [own = '', place = ''] = order
      return descending ? own < place : own > place
    }
    return ordered.filter(isBehind).slice(0, limit)
  }

/** Of questions for the numbers of a callflow: those of which it has to list one. */
const wantedIn = ({ key, test }: Question) =>
  key === 'numbers' && test.is === 'oneOf' ? test.texts : undefined

/** The callflows of an account, and what the ids in their flows are called. */
export const callflowRoutes = (callflows: Callflows) => {
  const listed = (account: AccountRecord): Listing<ListRow> => ({
    ...keptListing(callflows, account.id),
    // What lists a number is found by it, not by looking through all.
    narrowed(questions) {
      const [texts] = questions.flatMap((question) => wantedIn(question) ?? [])
      if (!texts) return { listing: listed(account), left: questions }
      const found = callflows.listing(account, texts)
      const page = async (query: Parameters<ReturnType<typeof pageOf>>[0]) => pageOf(await found)(query)
      const fitting = async ({ limit }: { limit: number }) => limit
      return {
        listing: collectionListing({ page, rows: page, fitting }, account.id),
        left: questions.filter((question) => wantedIn(question) !== texts),
      }
    },
  })

  /** Names in the flow change without the callflow: the answer is another one then. */
  const shown = async (callflow: CallflowRecord) => {
    const metadata = await callflows.namesIn(callflow)
    const etag = `${callflow.revision}-${hash('md5', JSON.stringify(metadata), 'hex')}`
    return { readOnly: { metadata }, etag }
  }

  return recordRoutes(callflows, {
    path: '/v2/accounts/{account_id}/callflows',
    called: ['a callflow', 'callflows'],
    row: CallflowRow,
    routes: everyOperation(accountMember, {
      list: {
        query: { filter_numbers: 'Only the callflow that lists this number, or one of a JSON list of them' },
      },
      read: { summary: 'Read a callflow, and what the ids in its flow are called' },
      delete: { summary: 'Delete a callflow: its numbers lead nowhere then' },
    }),
    list: ({ account }) => listed(account),
    shown,
  })
}
