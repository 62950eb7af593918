import { type AccountRecord, isSuperduper } from '../../../auth/identity.ts'
import { accountMember, anyToken, superduper } from '../../../auth/policies.ts'
import { collectionListing, shortListing } from '../../../http/response/listing.ts'
import { ListResponse, made, one, removed } from '../../../http/response/responses.ts'
import { type Call, del, get, patch, post, put, type Route } from '../../../http/route.ts'
import { failure, forbidden } from '../../../lib/failure.ts'
import type { Json } from '../../../lib/json.ts'
import { systemScope } from '../../../storage/change-set.ts'
import { noRate } from './failures.ts'
import type { RateStored, Rates } from './operations.ts'
import { NewRate, NumberRate, Rate, Ratedecks, RateRecord, RateRow } from './schema.ts'

const ratesPath = '/v2/rates'
const oneRate = `${ratesPath}/{rate_id}` as const
const ofNumber = 'rates/number/{number}'

const deckQuery = { ratedeck_id: 'Ratedeck; default: the default ratedeck' }
const placeQuery = { ratedeck_id: 'Ratedeck of the rate' }
const questionQuery = {
  direction: 'inbound or outbound',
  caller_id_number: 'Caller',
  options: 'Options that the rate must have, separated by commas',
}

const queryText = (query: URLSearchParams, name: string) => query.get(name) || undefined

const wholeRow = ({ id, doc }: RateStored): Json => ({ id, ...doc })

const rateQueryOf = ({ path, query }: Pick<Call<typeof ofNumber>, 'path' | 'query'>) => ({
  number: path.number,
  direction: queryText(query, 'direction'),
  callerIdNumber: queryText(query, 'caller_id_number'),
  options: queryText(query, 'options')?.split(',') ?? [],
})

export const rateRoutes = (rates: Rates): Route[] => {
  const subject = ({ path, query }: Pick<Call<typeof oneRate>, 'path' | 'query'>) =>
    rates.get(path.rate_id, queryText(query, 'ratedeck_id'))

  const listed = async (query: URLSearchParams) => {
    const deck = queryText(query, 'ratedeck_id')
    const prefix = queryText(query, 'prefix')
    if (prefix !== undefined) {
      return new ListResponse(shortListing((await rates.leadingTo(prefix, deck)).map(wholeRow)))
    }
    return new ListResponse(collectionListing(rates, systemScope, await rates.deckOr(deck)))
  }

  const change = async ({ author, subject: rate, data }: Call<typeof oneRate, Rate, RateStored>) =>
    one(await rates.replace(author, rate, data))

  const lookUp = (
    account: AccountRecord,
    call: Pick<Call<typeof ofNumber>, 'path' | 'query'>,
    deck?: string,
  ) => rates.lookUp(account, { ...rateQueryOf(call), ratedeckId: deck })

  /** The named ratedeck, else the caller's own. Ratedecks of parent accounts are refused. */
  const deckFor = async ({ actor, query }: Pick<Call, 'actor' | 'query'>) => {
    const asked = queryText(query, 'ratedeck_id')
    if (isSuperduper(actor)) return asked
    const [own, ...above] = await rates.decksUpFrom(actor.account)
    if (asked !== undefined && asked !== own && above.includes(asked)) {
      throw failure(forbidden, { cause: 'this ratedeck belongs to parent accounts' })
    }
    return asked ?? own
  }

  const admin = { allow: superduper }
  const judge = ({ data }: { data: Partial<Rate> }) => Promise.resolve(rates.judge(data))
  const writing = { ...admin, subject, body: Rate, answers: RateRecord, query: placeQuery, judge }
  const asking = { answers: NumberRate, fails: [noRate] as const }

  return [
    get(ratesPath, {
      summary: 'List the rates of a ratedeck',
      ...admin,
      query: { ...deckQuery, prefix: 'Whole rates of all prefixes of these digits' },
      answers: RateRow,
      list: true,
      run: ({ query }) => listed(query),
    }),
    put(ratesPath, {
      summary: 'Create a rate',
      ...admin,
      query: deckQuery,
      body: NewRate,
      answers: RateRecord,
      judge,
      run: async ({ author, data, query }) =>
        made(await rates.create(author, data, queryText(query, 'ratedeck_id'))),
    }),
    get(`${ratesPath}/ratedecks`, {
      summary: 'List the ratedecks',
      ...admin,
      answers: Ratedecks,
      run: () => rates.decks(),
    }),
    get(`/v2/${ofNumber}`, {
      summary: 'Read the price of calls to a number',
      allow: anyToken,
      query: { ...deckQuery, ...questionQuery },
      ...asking,
      run: async (call) => lookUp(call.actor.account, call, await deckFor(call)),
    }),
    get(`/v2/accounts/{account_id}/${ofNumber}`, {
      summary: 'Read the price of calls from an account to a number',
      allow: accountMember,
      query: questionQuery,
      ...asking,
      run: async (call) => lookUp(call.account, call, await rates.ratedeckOf(call.account)),
    }),
    get(oneRate, {
      summary: 'Read a rate',
      record: { kind: 'rate' },
      ...admin,
      subject,
      query: placeQuery,
      answers: RateRecord,
      run: ({ subject: rate }) => one(rate),
    }),
    post(oneRate, { summary: 'Replace a rate', ...writing, run: change }),
    patch(oneRate, { summary: 'Change fields of a rate', ...writing, run: change }),
    del(oneRate, {
      summary: 'Delete a rate',
      ...admin,
      subject,
      query: placeQuery,
      answers: RateRecord,
      run: async ({ author, subject: rate }) => {
        await rates.remove(author, rate)
        return removed(rate)
      },
    }),
  ]
}
