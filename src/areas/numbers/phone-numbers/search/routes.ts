import { isSuperduper } from '../../../../auth/identity.ts'
import { accountMember, anyone } from '../../../../auth/policies.ts'
import { type Call, get, post, type Route } from '../../../../http/route.ts'
import { badIdentifier, failure } from '../../../../lib/failure.ts'
import { keyed, list } from '../../../../lib/schema.ts'
import { initFailed, searchRestricted } from '../failures.ts'
import { numberListProblems } from '../schema.ts'
import type { ClientInfo, NumberSearch } from './operations.ts'
import { searchQueryIn } from './rules.ts'
import {
  CarriersInfo,
  Cities,
  FoundNumberDetails,
  NumberChecks,
  NumberLocality,
  NumberQuery,
} from './schema.ts'

const searchPath = '/v2/accounts/{account_id}/phone_numbers'

export const searchQuery = {
  prefix: 'Three to ten national digits, or an E.164 number that begins with them',
  quantity: 'Number of results (default 1, at most 500)',
  offset: 'Page of the search, from 0, with `quantity` numbers',
  country: 'ISO 3166-1 (default US)',
}

const resellerQuery = { reseller_id: 'Reseller whose carriers are searched' }

type Searcher = Pick<Call, 'account' | 'actor'>

export const visitOf = ({ account, actor }: Searcher): ClientInfo & { account: Call['account'] } => ({
  account,
  token: actor.token ?? actor.user?.id ?? '',
})

const isWithinReseller = ({ id, hidden }: Call['account'], resellerId: string) =>
  id === resellerId || hidden.tree.includes(resellerId)

export const numberSearchRoutes = (search: NumberSearch): Route[] => {
  const namedReseller = ({ request }: Pick<Call, 'request'>) => {
    const id = request.value('reseller_id')
    return typeof id === 'string' && id !== '' ? id : undefined
  }

  /** With a token: the caller's own account. Other resellers must allow searches without a token. */
  const rootVisit = async (call: Call): Promise<ClientInfo> => {
    const { visitor } = call
    const named = namedReseller(call)
    if (!visitor) return { resellerId: await search.openReseller(named) }
    const visit = visitOf({ account: visitor.account, actor: visitor })
    if (named === undefined) return visit
    if (!isWithinReseller(visitor.account, named)) return { resellerId: await search.openReseller(named) }
    return { ...visit, resellerId: await search.reseller(named) }
  }

  const infoVisit = async (call: Call): Promise<ClientInfo> => {
    const { account } = call
    const named = namedReseller(call)
    return named === undefined ? { account } : { account, resellerId: await search.reseller(named) }
  }

  const inQuestion = {
    allow: accountMember,
    body: NumberQuery,
    judge: async ({ data }: { data: { numbers?: unknown } }) => numberListProblems(data.numbers),
  }

  return [
    get('/v2/phone_numbers', {
      summary: 'Search for numbers; without a token only if a reseller allows it',
      allow: anyone,
      query: { ...searchQuery, ...resellerQuery },
      answers: list(FoundNumberDetails),
      fails: [searchRestricted],
      run: async (call) => search.inDetail(await rootVisit(call), searchQueryIn(call.query)),
    }),
    get(`${searchPath}/carriers_info`, {
      summary: 'List the carriers and their options',
      allow: accountMember,
      query: resellerQuery,
      answers: CarriersInfo,
      fails: [searchRestricted],
      run: async (call) =>
        search.carriersInfo(await infoVisit(call), {
          isOperator: isSuperduper(call.actor),
          allowsAdditions: call.actor.account.hidden.allowsNumberAdditions,
        }),
    }),
    get(`${searchPath}/prefix`, {
      summary: 'List the prefixes of a city',
      allow: accountMember,
      query: { city: 'Beginning of the name of the city' },
      answers: Cities,
      fails: [initFailed],
      run: ({ request }) => {
        const city = request.value('city')
        if (typeof city !== 'string' || city === '') throw failure(badIdentifier, { cause: 'city' })
        return search.cities(city)
      },
    }),
    post(`${searchPath}/check`, {
      summary: 'Check at the carriers whether numbers are available',
      ...inQuestion,
      answers: NumberChecks,
      run: (call) => search.check(visitOf(call), call.data.numbers ?? []),
    }),
    post(`${searchPath}/locality`, {
      summary: 'Read the locality of numbers',
      ...inQuestion,
      answers: keyed(NumberLocality),
      fails: [initFailed],
      run: ({ data }) => search.localityOf(data.numbers ?? []),
    }),
  ]
}
