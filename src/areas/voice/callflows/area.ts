import { hash } from 'node:crypto'
import type { AccountRecord } from '../../../auth/identity.ts'
import { accountMember } from '../../../auth/policies.ts'
import type { Listing, PageRequest } from '../../../http/response/listing.ts'
import { cachedListing, collectionListing } from '../../../http/response/listing.ts'
import type { ListQuery } from '../../../lib/question.ts'
import type { ListRow } from '../../../storage/records.ts'
import { on } from '../../../storage/signal.ts'
import { area } from '../../area.ts'
import { phoneNumbersArea } from '../../numbers/phone-numbers/area.ts'
import { numberReleased, numberRenamed } from '../../numbers/phone-numbers/signals.ts'
import { everyOperation, recordRoutes } from '../../record-routes.ts'
import { type CallflowRecord, type Callflows, createCallflows } from './operations.ts'
import { CallflowRow } from './schema.ts'

const listPosition = ({ sortKey, id }: CallflowRecord) => `${sortKey}\0${id}`

/** The texts of a filter for callflows that list one of some numbers. */
const wantedIn = ({ key, test }: ListQuery) =>
  key === 'numbers' && test.is === 'oneOf' ? test.texts : undefined

const callflowRoutes = (callflows: Callflows) => {
  const listed = (account: AccountRecord): Listing<ListRow> => ({
    ...cachedListing(callflows, account.id),
    // Callflows that list a number are found through its claim, without a scan.
    narrowed(questions) {
      const [texts] = questions.flatMap((question) => wantedIn(question) ?? [])
      if (!texts) return { listing: listed(account), left: questions }
      const found = callflows.listing(account, texts)
      const page = async ({ after, limit, descending }: PageRequest) => {
        const all = (await found).toSorted((a, b) =>
          listPosition(a) < listPosition(b) === descending ? 1 : -1,
        )
        const place = after?.join('\0')
        const isNext = (one: CallflowRecord) =>
          place === undefined || (descending ? listPosition(one) < place : listPosition(one) > place)
        return all.filter(isNext).slice(0, limit)
      }
      const fitting = async ({ limit }: PageRequest) => limit
      return {
        listing: { ...collectionListing(callflows, account.id), page, fitting },
        left: questions.filter((question) => wantedIn(question) !== texts),
      }
    },
  })

  /** Names in the flow change without the callflow, so they are part of the ETag. */
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
        query: { filter_numbers: 'Only the callflow of this number, or of one in a JSON list of numbers' },
      },
      read: { summary: 'Read a callflow, with the names of the records in its flow' },
      delete: { summary: 'Delete a callflow; calls to its numbers fail from then on' },
    }),
    list: ({ account }) => listed(account),
    shown,
  })
}

/** Rules for calls by called number. */
export const callflowsArea = area({
  name: 'callflows',
  kinds: { callflow: 'callflows' },
  describes: { callflows: 'Rules for calls by called number.' },
  needs: { phoneNumbers: phoneNumbersArea },
  create({ store }, { phoneNumbers: { numbers } }) {
    const callflows = createCallflows({ store, numbers })
    return {
      offers: callflows,
      ...callflowRoutes(callflows),
      hears: [on(numberReleased, callflows.replaceNumber), on(numberRenamed, callflows.replaceNumber)],
    }
  },
})
