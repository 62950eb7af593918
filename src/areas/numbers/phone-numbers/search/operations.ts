import { hash } from 'node:crypto'
import type { AccountRecord } from '../../../../auth/identity.ts'
import { deleteOldRows } from '../../../../jobs/scheduler.ts'
import { isE164, normalizeNumber } from '../../../../lib/e164.ts'
import { failure, hasProblems, invalid, joinProblems } from '../../../../lib/failure.ts'
import { type Json, present } from '../../../../lib/json.ts'
import { systemScope } from '../../../../storage/change-set.ts'
import type { Accounts } from '../../../accounts/accounts/operations.ts'
import type { DepsOf } from '../../../area.ts'
import type { AccountConfigs } from '../../../system/configs/operations.ts'
import {
  type CarrierModule,
  type CarrierSearch,
  type Offer,
  type Seeker,
  usableCarriers,
} from '../carriers/carrier.ts'
import { type Phonebook, PhonebookError } from '../carriers/phonebook.ts'
import type { Carriers } from '../carriers/registry.ts'
import { e164Prefix } from '../dial-code.ts'
import { initFailed, searchRestricted } from '../failures.ts'
import type { Localities } from '../localities/operations.ts'
import { creationStates, type Rights } from '../rules.ts'
import { numberManagerSettings, phoneNumberSettings } from '../settings.ts'
import { createNumberStore } from '../store.ts'
import {
  askedCarriers,
  cityNotFound,
  foundInDetail,
  foundNumber,
  joinOffers,
  localityEntry,
  maximalPrefixLength,
  questionProblems,
} from './rules.ts'
import { type CarriersInfo, FindNumbers, type FoundNumber, type FoundNumberDetails } from './schema.ts'
import { createSearchRows } from './store.ts'

const onPhonebookError =
  <T>(answer: (error: PhonebookError) => T) =>
  (error: unknown): T => {
    if (error instanceof PhonebookError) return answer(error)
    throw error
  }

const initFailure = (dataOf: (error: PhonebookError) => unknown) =>
  onPhonebookError((error): never => {
    throw failure(initFailed, { data: dataOf(error) }, error)
  })

/** From the inventory service if one is configured, else from imported localities. */
const createWhereabouts = ({ settings, phonebook, localities }: Deps) => ({
  async localityOf(texts: readonly string[]): Promise<Record<string, unknown>> {
    const numbers = texts.map(normalizeNumber)
    const known = await phonebook.locality(numbers).catch(initFailure(() => 'number locality lookup failed'))
    if (known) return known
    if (!(await localities.areThere())) throw failure(initFailed, { data: 'could not get locality url' })
    const places = await localities.ofMany(numbers)
    return Object.fromEntries(numbers.map((number) => [number, localityEntry(number, places.get(number))]))
  },

  async cities(name: string): Promise<unknown> {
    const { default_country: country } = await settings.of(phoneNumberSettings)
    const known = await phonebook.cities(country, name).catch(initFailure(({ answer }) => answer))
    if (known !== undefined) return known
    if (!(await localities.areThere()))
      throw failure(initFailed, { data: 'Unable to acquire numbers missing carrier url' })
    const cities = await localities.cities(country, name)
    if (Object.keys(cities).length === 0) throw failure(initFailed, { data: cityNotFound })
    return cities
  },
})

interface Deps extends DepsOf<'store' | 'settings' | 'validate' | 'log'> {
  accounts: Accounts
  configs: AccountConfigs
  carriers: Carriers
  localities: Localities
  phonebook: Phonebook
}

/** The caller of a search. Results belong to the account, later pages to the token. */
export interface ClientInfo {
  /** Absent: a client without a token, if the reseller allows it. */
  account?: AccountRecord
  /** The reseller whose carriers are asked, instead of the account's. */
  resellerId?: string
  token?: string
}

// How long results are stored, in ms.
const keptMs = 3_600_000
const everySeconds = 600

const searchId = (...parts: string[]) => hash('sha256', parts.join('\n'), 'hex').slice(0, 32)

const isModuleList = (value: unknown): value is CarrierModule[] =>
  Array.isArray(value) && value.every((one) => typeof one === 'string')

export type NumberSearch = ReturnType<typeof createNumberSearch>

/** Asks the carriers that are configured for a client. */
const createCarrierQueries = ({ store, settings, accounts, configs, carriers, log }: Deps) => {
  const numbers = createNumberStore(store)

  const seekerOf = async ({ account, resellerId }: ClientInfo): Promise<Seeker> => {
    const chosen = resellerId ?? (account && (await accounts.resellerOf(account)))
    return present({ accountId: account?.id, resellerId: chosen })
  }

  const modulesFor = async (seeker: Seeker) => {
    const { resellerId } = seeker
    const own = resellerId === undefined ? {} : await configs.own(resellerId, 'number_manager')
    const { carrier_modules: system } = await settings.of(numberManagerSettings)
    return askedCarriers(seeker, isModuleList(own.carrier_modules) ? own.carrier_modules : system)
  }

  /** A slow or failing carrier offers nothing; the others still count. */
  const askCarrier = async (module: CarrierModule, search: CarrierSearch): Promise<Offer[]> => {
    const givenUp = new Promise<Offer[]>((resolve) => {
      search.signal.addEventListener('abort', () => resolve([]), { once: true })
    })
    try {
      const answer = await Promise.race([carriers.of(module).search(search), givenUp])
      if (search.signal.aborted) log.write('warn', 'a carrier did not answer a search in time', { module })
      return answer
    } catch (error) {
      if (!(error instanceof PhonebookError)) throw error
      log.write('warn', 'a carrier could not be searched', { module })
      return []
    }
  }

  /** An offered number that is stored has its stored state; most have an owner. */
  const withOwnStates = async (offers: Offer[]) => {
    const foreign = offers.filter(({ state }) => state === 'discovery').map(({ number }) => number)
    if (foreign.length === 0) return offers
    const stored = await numbers.findSeveral(foreign)
    return offers.flatMap((offer): Offer[] => {
      const known = stored.get(offer.number)
      if (known === undefined || offer.state !== 'discovery') return [offer]
      return known.state === 'available' ? [{ ...offer, state: 'available' }] : []
    })
  }

  return {
    seekerOf,
    modulesFor,

    async search(seeker: Seeker, { prefix, country }: FindNumbers): Promise<Offer[]> {
      const limits = await settings.of(numberManagerSettings)
      const search: CarrierSearch = {
        ...seeker,
        prefix: e164Prefix(prefix, country) ?? prefix,
        country: country.toUpperCase(),
        quantity: limits.maximum_search_quantity,
        offset: 0,
        signal: AbortSignal.timeout(limits.number_search_timeout_ms),
      }
      const modules = await modulesFor(seeker)
      return withOwnStates(joinOffers(await Promise.all(modules.map((one) => askCarrier(one, search)))))
    },

    /** `error`: no carrier knows the number. */
    async check(visit: ClientInfo, texts: readonly string[]): Promise<Record<string, string>> {
      const numbers = texts.map(normalizeNumber)
      const answers = (await modulesFor(await seekerOf(visit))).map(async (module) =>
        carriers.of(module).check?.(numbers.filter(isE164)),
      )
      const noAnswer = onPhonebookError(() => undefined)
      const known = await Promise.all(answers.map((answer) => answer.catch(noAnswer)))
      const statusOf = (number: string) => known.find((answer) => answer?.has(number))?.get(number) ?? 'error'
      return Object.fromEntries(numbers.map((number) => [number, statusOf(number)]))
    },
  }
}

/** Searches carriers, and looks up numbers at carriers and in localities. */
export const createNumberSearch = (deps: Deps) => {
  const { store, settings, accounts, configs, localities, validate } = deps
  const rows = createSearchRows(store)
  const carriers = createCarrierQueries(deps)
  const { seekerOf, modulesFor, check } = carriers
  const oldest = () => store.clock.now() - keptMs

  /** The master account counts as a reseller. */
  const reseller = async (id: string): Promise<string> => {
    const account = await accounts.find(id)
    if (account?.hidden.isReseller || account?.hidden.tree.length === 0) return account.id
    throw failure(searchRestricted, { message: 'nonexistent reseller_id' })
  }

  const validated = async (question: Json): Promise<FindNumbers> => {
    const { value, sound, problems } = await validate(FindNumbers, question)
    const all = joinProblems(questionProblems(sound), problems)
    if (hasProblems(all)) throw invalid(all)
    return value as FindNumbers
  }

  /** The first page asks the carriers; later pages read the stored result. */
  const search = async (visit: ClientInfo, question: Json): Promise<Offer[]> => {
    const asked = await validated(question)
    const seeker = await seekerOf(visit)
    const owner = seeker.accountId ?? systemScope
    const id = searchId(asked.country, asked.prefix, owner, seeker.resellerId ?? '', visit.token ?? '')
    const { maximum_search_quantity: most } = await settings.of(numberManagerSettings)
    const size = Math.min(asked.quantity, most)
    const page = (offers: Offer[]) => offers.slice(asked.offset * size, (asked.offset + 1) * size)
    if (asked.offset > 0) return page((await rows.find(owner, id, oldest())) ?? [])
    const offers = await carriers.search(seeker, asked)
    await rows.put(owner, id, store.clock.now(), offers)
    return page(offers)
  }

  return {
    check,
    reseller,

    async inAccount(visit: ClientInfo & { account: AccountRecord }, question: Json): Promise<FoundNumber[]> {
      return (await search(visit, question)).map(foundNumber)
    },

    async inDetail(visit: ClientInfo, question: Json): Promise<FoundNumberDetails[]> {
      const offers = await search(visit, question)
      const places = await localities.ofMany(offers.map(({ number }) => number))
      return offers.map((offer) => foundInDetail(offer, places.get(offer.number)))
    },

    /** The reseller of a client without a token; it must allow searches. */
    async openReseller(id: string | undefined): Promise<string> {
      if (!id) throw failure(searchRestricted, { message: 'number search restricted' })
      const known = await reseller(id)
      const { unauthorized_numbers_lookup: own } = await configs.own(known, 'number_manager')
      const { unauthorized_numbers_lookup: system } = await settings.of(numberManagerSettings)
      if (typeof own === 'boolean' ? own : system) return known
      throw failure(searchRestricted, { message: 'number search restricted' })
    },

    /** Offered to the account within the last hour, and not stored yet. */
    async offered(accountId: string, number: string): Promise<Offer | undefined> {
      if (!isE164(number)) return undefined
      const offers = await rows.findWith(accountId, number, oldest())
      return offers.find((offer) => offer.number === number && offer.state === 'discovery')
    },

    async carriersInfo(visit: ClientInfo, rights: Rights): Promise<CarriersInfo> {
      return {
        maximal_prefix_length: maximalPrefixLength(await modulesFor(await seekerOf(visit))),
        usable_carriers: [...usableCarriers],
        usable_creation_states: [...creationStates(rights)],
      }
    },

    ...createWhereabouts(deps),

    tidying: deleteOldRows(store, {
      name: 'number-searches',
      everySeconds,
      table: 'number_searches',
      key: ['account_id', 'id'],
      where: 'found_at < $1',
      before: oldest,
    }),
  }
}
