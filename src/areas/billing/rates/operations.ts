import { createHash } from 'node:crypto'
import type { AccountRecord } from '../../../auth/identity.ts'
import { normalizeNumber } from '../../../lib/e164.ts'
import { badIdentifier, datastoreConflict, failure, invalid } from '../../../lib/failure.ts'
import { type Author, ChangeSet, systemScope } from '../../../storage/change-set.ts'
import type { Accounts } from '../../accounts/accounts/operations.ts'
import type { DepsOf } from '../../area.ts'
import { noRate } from './failures.ts'
import {
  chooseRate,
  digitsOf,
  isRateable,
  leadingParts,
  mergedRate,
  newRate,
  numberRate,
  type RateFields,
  type RateQuery,
  rateIdentity,
  rateProblems,
  withRoutes,
} from './rules.ts'
import type { NewRate, NumberRate, Rate } from './schema.ts'
import { rateSettings } from './settings.ts'
import { createRateStore, type RateStored } from './store.ts'

interface Deps extends DepsOf<'store' | 'settings'> {
  accounts: Pick<Accounts, 'find' | 'resellerOf'>
  /** The ratedeck that an account's services name; undefined: the default one. */
  ratedeckOf(account: AccountRecord): Promise<string | undefined>
}

export type { RateStored }

interface RateRequest extends Omit<RateQuery, 'resellerId'> {
  /** The ratedeck of the account's plans, or of a caller without an account; else the default one. */
  ratedeckId?: string | undefined
}

/** One of many calls. Its number is as it was dialled. */
export type RatedCallQuery = RateRequest & Pick<RateQuery, 'resellerId'>

export type Rates = ReturnType<typeof createRates>

const rateIdOf = (fields: RateFields) =>
  createHash('sha256').update(rateIdentity(fields)).digest('hex').slice(0, 32)

const unrateable = () => invalid({ 'number format': { error: { message: 'Number is un-rateable' } } })

const pairOf = ({ ratedeck_id: deck = '', prefix }: Partial<Rate>) => [deck, `${prefix}`] as const

export const createRates = ({ store, settings, accounts, ratedeckOf }: Deps) => {
  const rates = createRateStore(store)

  const deckOr = async (ratedeckId: string | undefined) =>
    ratedeckId || (await settings.of(rateSettings)).default_ratedeck

  /** Reads the rates of these prefixes. Returns a function for the rates of one of them. */
  const ofPrefixes = async (wanted: readonly Partial<Rate>[]) => {
    const found = await rates.ofPairs(wanted.map(pairOf))
    return (rate: Partial<Rate>) => found(...pairOf(rate))
  }

  const save = async (author: Author, change: (set: ChangeSet) => void) => {
    const set = new ChangeSet(author)
    change(set)
    await store.commit(set)
  }

  return {
    page: rates.page,
    rows: rates.rows,
    fitting: rates.fitting,
    deckOr,
    judge: rateProblems,

    ofPrefixes,

    /** Stored rates with the same identity, and the ids of new ones. */
    async byIdentity(wanted: readonly RateFields[]) {
      const stored = await ofPrefixes(wanted)
      const taken = await rates.several(wanted.map(rateIdOf))
      const known = new Map<string, RateStored>()
      for (const rate of wanted.flatMap(stored)) known.set(rateIdentity(rate.doc), rate)
      return {
        get: (fields: RateFields) => known.get(rateIdentity(fields)),
        put: (fields: RateFields, rate: RateStored) => void known.set(rateIdentity(fields), rate),
        /** Concurrent imports give a rate the same id. Undefined: another rate already has it. */
        freeId: (fields: RateFields) => (taken.has(rateIdOf(fields)) ? undefined : rateIdOf(fields)),
      }
    },

    /** 404 also if it belongs to another ratedeck than the named one. */
    async get(id: string, ratedeckId?: string): Promise<RateStored> {
      const rate = await rates.find(systemScope, id)
      if (!rate || (ratedeckId && rate.ownerId !== ratedeckId)) throw failure(badIdentifier, { cause: id })
      return rate
    },

    /** The rates of every leading part of a number, the shortest first. */
    leadingTo: async (prefix: string, ratedeckId: string | undefined) =>
      rates.leadingTo(await deckOr(ratedeckId), digitsOf(prefix)),

    decks: async () => ({ default_ratedeck: await deckOr(undefined), ratedecks: await rates.decks() }),

    /** The id of a deleted rate may be used again. */
    async create(author: Author, { id, ...data }: NewRate, ratedeckId: string | undefined) {
      if (id !== undefined && (await rates.find(systemScope, id))) throw failure(datastoreConflict, {})
      const doc = withRoutes({ ...data, ratedeck_id: await deckOr(data.ratedeck_id ?? ratedeckId) })
      const rate = rates.draft(systemScope, { doc, hidden: {} }, id)
      await save(author, (set) => rates.insert(set, rate))
      return rate
    },

    /** A rate stays in its ratedeck unless another one is named. */
    async replace(author: Author, before: RateStored, data: Rate): Promise<RateStored> {
      const doc = withRoutes({ ...data, ratedeck_id: data.ratedeck_id ?? before.ownerId }, before.doc)
      const after = rates.revise(before, { doc })
      await save(author, (set) => rates.replace(set, before, after))
      return after
    },

    addWith(set: ChangeSet, fields: RateFields, id: string | undefined): RateStored {
      const rate = rates.draft(systemScope, { doc: newRate(fields), hidden: {} }, id)
      rates.insert(set, rate)
      return rate
    },

    /** Adds the changed rate to a change set. Returns the rate itself if nothing changes. */
    mergeWith(set: ChangeSet, before: RateStored, fields: RateFields): RateStored {
      const rate = rates.revise(before, { doc: mergedRate(before.doc, fields) })
      if (rate.docText === before.docText) return before
      rates.replace(set, before, rate)
      return rate
    },

    removeWith: rates.remove,

    remove: (author: Author, rate: RateStored) => save(author, (set) => rates.remove(set, rate)),

    ratedeckOf,

    /** The ratedecks of an account and its parents, nearest first. */
    async decksUpFrom(account: AccountRecord): Promise<string[]> {
      const above = await Promise.all(account.hidden.tree.toReversed().map((id) => accounts.find(id)))
      const all = [account, ...above.filter((one) => one !== undefined)]
      return Promise.all(all.map(async (one) => deckOr(await ratedeckOf(one))))
    },

    /** The rate of each call; undefined: none. One read for all of them. */
    async lookUpMany(calls: readonly RatedCallQuery[]): Promise<(RateStored | undefined)[]> {
      const manner = await settings.of(rateSettings)
      const asked = calls.map((call) => {
        const { ratedeckId: deck = manner.default_ratedeck } = call
        const number = normalizeNumber(call.number)
        return { ...call, deck, number, parts: isRateable(number) ? leadingParts(digitsOf(number)) : [] }
      })
      const wanted = asked.flatMap(({ deck, parts }) => parts.map((prefix) => [deck, prefix] as const))
      const found = await rates.ofPairs(wanted, store.scan)
      return asked.map((call) => {
        const candidates = call.parts.flatMap((prefix) => found(call.deck, prefix))
        return chooseRate(candidates, call, manner)
      })
    },

    async lookUp(account: AccountRecord, request: RateRequest): Promise<NumberRate> {
      const number = normalizeNumber(request.number)
      if (!isRateable(number)) throw unrateable()
      const manner = await settings.of(rateSettings)
      const deck = request.ratedeckId ?? manner.default_ratedeck
      const question = { ...request, number, resellerId: await accounts.resellerOf(account) }
      const found = chooseRate(await rates.leadingTo(deck, digitsOf(number)), question, manner)
      if (!found) throw failure(noRate, {})
      return numberRate(number, deck, found)
    },
  }
}
