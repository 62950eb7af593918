import type { AccountRecord } from '../../../auth/identity.ts'
import { failure } from '../../../lib/failure.ts'
import { isObject, type Json } from '../../../lib/json.ts'
import type { Settings } from '../../../settings/settings.ts'
import type { NumberFacts } from '../draft.ts'
import { isLocal } from '../rules.ts'
import type { E911 } from '../schema.ts'
import type { NumberDoc, NumberRecord } from '../store.ts'
import type { FeatureProvider, Subscriber } from './providers.ts'
import {
  activeFeatures,
  asksForFeatures,
  availableFeatures,
  callerNameOf,
  type FeatureContext,
  refusedFeature,
  withoutRefused,
} from './rules.ts'

/** What of a number decides which features it may have. */
type FeatureSubject = Pick<FeatureContext, 'state' | 'usedBy'> & {
  carrier: string
  featuresAllowed?: readonly string[] | undefined
  featuresDenied?: readonly string[] | undefined
}

interface Tools {
  settings: Settings
  provider: FeatureProvider
  findAccount(id: string): Promise<AccountRecord | undefined>
  /** What the reseller of an account has set in `number_manager`. */
  resellerSettings(account: AccountRecord): Promise<Json>
}

/** Feature lists of the system or of one account's reseller. */
interface FeatureLists {
  allowed: readonly string[] | undefined
  denied: readonly string[] | undefined
}

const isTexts = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((one) => typeof one === 'string')

const listOf = (settings: Json, key: 'allow' | 'deny') => {
  const list = isObject(settings.features) ? settings.features[key] : undefined
  return isTexts(list) ? list : undefined
}

const withoutStatus = ({ status: _, ...address }: E911) => address

const isSameAddress = (a: E911, b: E911 | undefined) =>
  b !== undefined && JSON.stringify(withoutStatus(a)) === JSON.stringify(withoutStatus(b))

export type NumberFeatures = ReturnType<typeof createNumberFeatures>

export const createNumberFeatures = ({ settings, provider, findAccount, resellerSettings }: Tools) => {
  const listsOf = async (accountId: string): Promise<FeatureLists> => {
    const { features: system } = await settings.of('number_manager')
    const account = accountId === '' ? undefined : await findAccount(accountId)
    const own = account ? await resellerSettings(account) : {}
    return { allowed: listOf(own, 'allow') ?? system.allow, denied: listOf(own, 'deny') ?? system.deny }
  }

  /** What decides for the numbers of one account, read once. */
  const availabilityIn = async (accountId: string) => {
    const lists = await listsOf(accountId)
    const { local_feature_override, sms_carriers, mms_carriers } = await settings.of('number_manager')
    const isOneOf = (carriers: readonly string[], carrier: string) => carriers.includes(carrier)
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
        carriesSms: isOneOf(sms_carriers, subject.carrier),
        carriesMms: isOneOf(mms_carriers, subject.carrier),
      })
  }

  const available = async (subject: FeatureSubject & { accountId: string }, isOperator: boolean) =>
    (await availabilityIn(subject.accountId))(subject, isOperator)

  const registered = async (subscriber: Subscriber, given: E911): Promise<E911> => {
    const account = await findAccount(subscriber.accountId)
    const address = { ...given, caller_name: given.caller_name ?? callerNameOf(account?.doc.name) }
    const verdict = await provider.registerAddress(subscriber, address)
    if (verdict.outcome === 'accepted') return verdict.address
    if (verdict.outcome === 'invalid') {
      throw failure('invalid_data', {
        data: { address: { invalid: { cause: given, message: verdict.message } } },
      })
    }
    throw failure('multiple_choice', { address: given, addresses: verdict.addresses })
  }

  /** The address as it is kept: what has not changed is not registered again. */
  const addressOf = async (subscriber: Subscriber, doc: NumberDoc, before: NumberRecord | undefined) => {
    const given = doc.e911 as E911
    const known = before?.hidden.features.e911 as E911 | undefined
    const named = { ...given, caller_name: given.caller_name ?? known?.caller_name }
    if (known && before?.accountId === subscriber.accountId && isSameAddress(named as E911, known))
      return known
    return registered(subscriber, given)
  }

  const removeAddress = (number: NumberRecord) =>
    provider.removeAddress({ number: number.id, accountId: number.accountId })

  const nameOf = (features: Readonly<Record<string, unknown>> | undefined) =>
    (features?.outbound_cnam as { display_name?: string } | undefined)?.display_name

  /** Tells the provider what was on before and is not any more, and of another name. */
  const tellChanges = async (
    subscriber: Subscriber,
    before: NumberRecord | undefined,
    after: Readonly<Record<string, unknown>>,
  ) => {
    if (before?.hidden.features.e911 && !after.e911) await removeAddress(before)
    const name = nameOf(after)
    if (name !== nameOf(before?.hidden.features)) await provider.registerName(subscriber, name)
  }

  return {
    available,
    availabilityIn,

    /**
     * Switches on what the public fields ask for. With `asked` a field that the number may not have refuses the whole
     * change; without, such fields are dropped: they were there before the number came to where it is.
     */
    async apply(
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
        await tellChanges({ number, accountId }, before, features)
        return { ...facts, hidden: { ...hidden, features } }
      }
      const subject = { accountId, state, usedBy, carrier, ...hidden }
      const may = await available(subject, isOperator)
      const refused = asked ? refusedFeature(facts.doc, may) : undefined
      if (refused) throw failure('number_forbidden', { cause: `feature ${refused} is not available` })
      const doc = asked ? facts.doc : withoutRefused(facts.doc, may)
      const active = { state, isLocal: isLocal(carrier), available: may }
      const subscriber = { number, accountId }
      const wanted = activeFeatures(doc, active)
      const complete = wanted.e911 ? { ...doc, e911: await addressOf(subscriber, doc, before) } : doc
      const features = activeFeatures(complete, active)
      await tellChanges(subscriber, before, features)
      return { ...facts, doc: complete, hidden: { ...hidden, features } }
    },

    /** Switches everything off. */
    async strip(number: NumberRecord) {
      await tellChanges({ number: number.id, accountId: number.accountId }, number, {})
    },
  }
}
