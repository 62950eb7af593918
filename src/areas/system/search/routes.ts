import { accountMember, anyToken, type Policy } from '../../../auth/policies.ts'
import type { Listing } from '../../../http/response/listing.ts'
import { ListResponse } from '../../../http/response/responses.ts'
import { type Call, get, type Route } from '../../../http/route.ts'
import { anyText, id, integer, keyed, list, must, open } from '../../../lib/schema.ts'
import { readSearchQueries, readSearchQuery, type SearchQuery, searchTypes } from './rules.ts'
import type { Hit, Search } from './store.ts'

export const Found = open(
  { id: must(id()), name: anyText(), realm: anyText(), descendants_count: integer() },
  { title: 'Search result' },
)

const FoundBy = keyed(list(Found), { title: 'Search results by field' })

// Rows for each field of a search by several fields.
const maxOfEach = 50

const query = {
  t: `Record type: ${searchTypes.join(', ')}`,
  q: 'The field: name, realm or id of accounts, name or username of users, name of devices',
  v: 'Beginning of the field; only letters and digits count',
}

const multiQuery = {
  t: query.t,
  by_name: 'Beginning of the name',
  by_realm: 'Beginning of the realm of accounts',
  by_id: 'Beginning of the ID of accounts',
  by_username: 'Beginning of the user name of users',
}

const rowOf = ({ type }: SearchQuery, { record }: Hit) => {
  if (type !== 'account') return record.rowText
  const { name, realm } = record.doc
  return JSON.stringify({ id: record.id, name, realm, descendants_count: record.tally })
}

export const searchRoutes = (search: Search): Route[] => {
  const hits = (accountId: string, question: SearchQuery): Listing<Hit> => ({
    page: (request) => search.find(question, { ...request, accountId }),
    cursor: ({ key, record }) => [key, record.id],
    row: (hit) => rowOf(question, hit),
    record: ({ record }) => ({
      ...record.doc,
      id: record.id,
      created: record.created,
      modified: record.modified,
    }),
  })

  const one = ({ request }: Call, accountId: string) =>
    new ListResponse(hits(accountId, readSearchQuery(request.value)))

  const several = async ({ request }: Call, accountId: string) => {
    const page = { accountId, limit: maxOfEach, descending: false }
    const found = readSearchQueries(request.value).map(async (question) => {
      const rows = (await search.find(question, page)).map((hit) => JSON.parse(rowOf(question, hit)))
      return [question.field, rows] as const
    })
    return Object.fromEntries(await Promise.all(found))
  }

  const routesAt = (path: string, place: string, allow: Policy, accountIdOf: (call: Call) => string) => [
    get(path, {
      summary: `Search the sub-accounts of ${place}`,
      allow,
      query,
      answers: Found,
      list: true,
      run: (call) => one(call, accountIdOf(call)),
    }),
    get(`${path}/multi`, {
      summary: `Search the sub-accounts of ${place} by several fields`,
      allow,
      query: multiQuery,
      answers: FoundBy,
      isLong: true,
      run: (call) => several(call, accountIdOf(call)),
    }),
  ]

  return [
    ...routesAt('/v2/search', "the caller's account", anyToken, ({ actor }) => actor.accountId),
    ...routesAt('/v2/accounts/{account_id}/search', 'an account', accountMember, ({ account }) => account.id),
  ]
}
