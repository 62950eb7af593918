import type { AccountRecord } from '../../../auth/identity.ts'
import type { Clock } from '../../../lib/clock.ts'
import { failure, hasProblems, invalid, invalidData } from '../../../lib/failure.ts'
import { newId } from '../../../lib/ids.ts'
import { isObject, type Json } from '../../../lib/json.ts'
import { memberOf } from '../../../lib/member.ts'
import type { ChangeSet } from '../../../storage/change-set.ts'
import type { DepsOf } from '../../area.ts'
import type { Destinations } from '../../voice/resources/destinations.operations.ts'
import type { WrittenDestination } from '../../voice/resources/hosts.rules.ts'
import { multipleChoice, numberForbidden } from './failures.ts'
import { isListOfTexts, type NumberFacts } from './number-facts.ts'
import { addNumberJob, awaiting, type Deed, registrationKind } from './orders.ts'
import {
  activeFeatures,
  asksForFeatures,
  availableFeatures,
  callerNameOf,
  type FeatureContext,
  featureSettings,
  isLocal,
  refusedFeature,
  withoutRefused,
} from './rules.ts'
import type { E911 } from './schema.ts'
import { numberManagerSettings } from './settings.ts'
import type { NumberDoc, NumberHidden, NumberRecord } from './store.ts'

interface Subscriber {
  number: string
  accountId: string
}

export type AddressVerdict =
  /** The address with the provider's corrections and its `status`. */
  | { outcome: 'accepted'; address: E911 }
  | { outcome: 'invalid'; message: string }
  | { outcome: 'ambiguous'; addresses: readonly E911[] }

export interface Registrar {
  /** `key` is the same for every repeat. `refused`: emergency services will not find the number there. */
  registerAddress(
    subscriber: Subscriber,
    address: E911,
    key: string,
  ): Promise<{ outcome: 'registered' } | { outcome: 'refused'; message: string }>
  removeAddress(subscriber: Subscriber, key: string): Promise<void>
  /** Undefined: no name. */
  registerName(subscriber: Subscriber, displayName: string | undefined, key: string): Promise<void>
}

export interface FeatureProvider {
  /** Shown to clients; `none`: no provider. */
  name: string
  /** Validates an address before it is stored. Changes nothing: refused and repeated changes ask again. */
  judgeAddress(subscriber: Subscriber, address: E911): Promise<AddressVerdict>
  /** Absent: addresses and names are only stored. */
  registrar?: Registrar
}

/** Fields that only a provider sets. */
const asGiven = ({ status: _, activated_time: __, ...address }: E911): E911 => address

/** No provider: addresses and names are only stored, without a status. */
export const storedOnly: FeatureProvider = {
  name: 'none',
  judgeAddress: async (_subscriber, address) => ({ outcome: 'accepted', address: asGiven(address) }),
}

type FeatureSubject = Pick<FeatureContext, 'state' | 'usedBy'> & {
  carrier: string
  featuresAllowed?: readonly string[] | undefined
  featuresDenied?: readonly string[] | undefined
}

interface Deps extends DepsOf<'settings'> {
  clock: Clock
  provider: FeatureProvider
  destinations: Pick<Destinations, 'problems'>
  findAccount(id: string): Promise<AccountRecord | undefined>
  /** `number_manager` of the account's reseller. */
  resellerSettings(account: AccountRecord): Promise<Json>
  messagesOf(account: AccountRecord): Promise<MessageTerms>
}

/** Enabled by default. */
type MessageTerms = Partial<Record<'sms' | 'mms', { enabled?: boolean }>>

const featureList = (settings: Json, key: 'allow' | 'deny') => {
  const list = memberOf(settings, 'features', key)
  return isListOfTexts(list) ? list : undefined
}

/** Validated before it was stored. */
const addressIn = (features: Readonly<Json> | undefined) => features?.e911 as E911 | undefined

const withoutStatus = ({ status: _, ...address }: E911) => address

const isSameAddress = (a: E911, b: E911) =>
  JSON.stringify(withoutStatus(a)) === JSON.stringify(withoutStatus(b))

/** An address that could not be registered is tried again. */
const isRegistered = (address: E911, known: E911 | undefined) =>
  known !== undefined && known.status !== 'ERROR' && isSameAddress(address, known)

const displayNameOf = ({ outbound_cnam: cnam }: Readonly<Json>) =>
  isObject(cnam) && typeof cnam.display_name === 'string' ? cnam.display_name : undefined

const isIn = (list: readonly string[], text: string) => list.includes(text)

/** External destinations of calls. */
const destinationsIn = (doc: object): WrittenDestination[] => {
  const text = memberOf(doc, 'failover', 'sip')
  return typeof text === 'string' && text !== '' ? [{ path: 'failover.sip', form: 'uri', text }] : []
}

interface Dressed extends Subscriber {
  hidden: NumberHidden
}

export type NumberFeatures = ReturnType<typeof createNumberFeatures>

export const createNumberFeatures = ({
  clock,
  settings,
  provider,
  destinations,
  findAccount,
  resellerSettings,
  messagesOf,
}: Deps) => {
  const listsOf = async (account: AccountRecord | undefined) => {
    const { features: system } = await settings.of(numberManagerSettings)
    const own = account ? await resellerSettings(account) : {}
    return {
      allowed: featureList(own, 'allow') ?? system.allow,
      denied: featureList(own, 'deny') ?? system.deny,
    }
  }

  /** The values of one account, read once. */
  const availabilityIn = async (accountId: string) => {
    const account = accountId === '' ? undefined : await findAccount(accountId)
    const lists = await listsOf(account)
    const messages = account ? await messagesOf(account) : {}
    const { local_feature_override, sms_carriers, mms_carriers } = await settings.of(numberManagerSettings)
    return (subject: FeatureSubject, isOperator: boolean) =>
      availableFeatures({
        isOperator,
        accountId,
        state: subject.state,
        usedBy: subject.usedBy,
        isLocal: isLocal(subject.carrier),
        ownAllowed: subject.featuresAllowed ?? [],
        ownDenied: subject.featuresDenied ?? [],
        ...lists,
        localOverride: local_feature_override,
        carriesSms: isIn(sms_carriers, subject.carrier) && messages.sms?.enabled !== false,
        carriesMms: isIn(mms_carriers, subject.carrier) && messages.mms?.enabled !== false,
      })
  }

  const assertFailover = async (accountId: string, doc: NumberDoc, before: NumberRecord | undefined) => {
    const had = before?.accountId === accountId ? destinationsIn(before.doc) : []
    const problems = await destinations.problems({ id: accountId }, destinationsIn(doc), had)
    if (hasProblems(problems)) throw invalid(problems)
  }

  const available = async (subject: FeatureSubject & { accountId: string }, isOperator: boolean) =>
    (await availabilityIn(subject.accountId))(subject, isOperator)

  const accepted = async (subscriber: Subscriber, given: E911): Promise<E911> => {
    const account = await findAccount(subscriber.accountId)
    const address = { ...given, caller_name: given.caller_name ?? callerNameOf(account?.doc.name) }
    const verdict = await provider.judgeAddress(subscriber, address)
    if (verdict.outcome === 'accepted') return verdict.address
    if (verdict.outcome === 'invalid') {
      throw failure(invalidData, {
        data: { address: { invalid: { cause: given, message: verdict.message } } },
      })
    }
    throw failure(multipleChoice, { address: given, addresses: verdict.addresses })
  }

  /** The address to store. An unchanged one is not validated again. */
  const addressOf = async (subscriber: Subscriber, doc: NumberDoc, before: NumberRecord | undefined) => {
    const given = doc.e911 as E911
    const known = addressIn(before?.hidden.features)
    const name = given.caller_name ?? known?.caller_name
    const named = name === undefined ? given : { ...given, caller_name: name }
    if (known && before?.accountId === subscriber.accountId && isRegistered(named, known)) return known
    return accepted(subscriber, given)
  }

  /** Adds jobs for the provider: what is switched on or off. */
  const addChanges = (
    set: ChangeSet,
    { number, accountId, hidden }: Dressed,
    before: Pick<NumberRecord, 'accountId' | 'hidden'> | undefined,
  ) => {
    if (!provider.registrar) return
    const add = (owner: Pick<NumberRecord, 'accountId' | 'hidden'>, deed: Deed) => {
      const job = { id: newId(clock.now()), accountId: owner.accountId, number }
      addNumberJob(set, registrationKind, job, { number, deed, ...awaiting(owner.hidden) })
    }
    const [was, is] = [before?.hidden.features ?? {}, hidden.features]
    const address = addressIn(is)
    const known = before?.accountId === accountId ? addressIn(was) : undefined
    if (before && was.e911 && !address) add(before, { what: 'no address' })
    if (address && !isRegistered(address, known)) add({ accountId, hidden }, { what: 'address', address })
    const name = displayNameOf(is)
    if (name !== displayNameOf(was)) add({ accountId, hidden }, { what: 'name', name })
  }

  return {
    available,
    availabilityIn,

    settingsOf: (features: Readonly<Json>) => featureSettings(features, provider),

    /**
     * Applies the public fields. Unavailable features are refused if `asked`, else dropped: they come from an
     * earlier owner or settings.
     */
    async apply(
      set: ChangeSet,
      number: string,
      facts: NumberFacts,
      {
        before,
        asked,
        isOperator,
      }: { before: NumberRecord | undefined; asked: boolean; isOperator: boolean },
    ): Promise<NumberFacts> {
      const { accountId, state, usedBy, carrier, hidden } = facts
      if (!asksForFeatures(facts.doc)) {
        const features = activeFeatures(facts.doc, { state, isLocal: isLocal(carrier), available: [] })
        const plain = { ...facts, hidden: { ...hidden, features } }
        addChanges(set, { number, ...plain }, before)
        return plain
      }
      const subject = { accountId, state, usedBy, carrier, ...hidden }
      const may = await available(subject, isOperator)
      const refused = asked ? refusedFeature(facts.doc, may) : undefined
      if (refused) throw failure(numberForbidden, { cause: `feature ${refused} is not available` })
      const doc = asked ? facts.doc : withoutRefused(facts.doc, may)
      if (asked) await assertFailover(accountId, doc, before)
      const active = { state, isLocal: isLocal(carrier), available: may }
      const subscriber = { number, accountId }
      const wanted = activeFeatures(doc, active)
      const complete = wanted.e911 ? { ...doc, e911: await addressOf(subscriber, doc, before) } : doc
      const features = activeFeatures(complete, active)
      const dressed = { ...facts, doc: complete, hidden: { ...hidden, features } }
      addChanges(set, { number, ...dressed }, before)
      return dressed
    },

    strip(set: ChangeSet, stored: NumberRecord) {
      const { id: number, accountId, hidden } = stored
      addChanges(set, { number, accountId, hidden: { ...hidden, features: {} } }, stored)
    },
  }
}
