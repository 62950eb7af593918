import type { AccountRecord } from '../../../auth/identity.ts'
import { failure, hasProblems, invalid } from '../../../lib/failure.ts'
import { type Json, sameJson } from '../../../lib/json.ts'
import { memberOf } from '../../../lib/member.ts'
import type { DepsOf } from '../../area.ts'
import type { Destinations } from '../../voice/resources/destinations.operations.ts'
import type { WrittenDestination } from '../../voice/resources/hosts.rules.ts'
import { numberForbidden } from './failures.ts'
import { isListOfTexts, type NumberFacts } from './number-facts.ts'
import {
  activeFeatures,
  asksForFeatures,
  availableFeatures,
  callerNameOf,
  type FeatureContext,
  isLocal,
  refusedFeature,
  withoutRefused,
} from './rules.ts'
import type { E911 } from './schema.ts'
import { numberManagerSettings } from './settings.ts'
import type { NumberDoc, NumberRecord } from './store.ts'

/** Only an import sets the fields that a provider of emergency addresses fills. */
const asGiven = ({ status: _, activated_time: __, ...address }: E911): E911 => address

type FeatureSubject = Pick<FeatureContext, 'state' | 'usedBy'> & {
  carrier: string
  featuresAllowed?: readonly string[] | undefined
  featuresDenied?: readonly string[] | undefined
}

interface Deps extends DepsOf<'settings'> {
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

/** An imported address whose registration failed is replaced. */
const isKept = (address: E911, known: E911) =>
  known.status !== 'ERROR' && sameJson({ ...address, status: undefined }, { ...known, status: undefined })

const isIn = (list: readonly string[], text: string) => list.includes(text)

/** External destinations of calls. */
const destinationsIn = (doc: object): WrittenDestination[] => {
  const text = memberOf(doc, 'failover', 'sip')
  return typeof text === 'string' && text !== '' ? [{ path: 'failover.sip', form: 'uri', text }] : []
}

export type NumberFeatures = ReturnType<typeof createNumberFeatures>

export const createNumberFeatures = ({
  settings,
  destinations,
  findAccount,
  resellerSettings,
  messagesOf,
}: Deps) => {
  /** The values of one account, read once. */
  const availabilityIn = async (accountId: string) => {
    const account = accountId === '' ? undefined : await findAccount(accountId)
    const own = account ? await resellerSettings(account) : {}
    const messages = account ? await messagesOf(account) : {}
    const system = await settings.of(numberManagerSettings)
    const ofAccount = {
      accountId,
      allowed: featureList(own, 'allow') ?? system.features.allow,
      denied: featureList(own, 'deny') ?? system.features.deny,
      localOverride: system.local_feature_override,
    }
    return (subject: FeatureSubject, isOperator: boolean) => {
      const {
        state,
        usedBy,
        carrier,
        featuresAllowed: ownAllowed = [],
        featuresDenied: ownDenied = [],
      } = subject
      const carriesSms = isIn(system.sms_carriers, carrier) && messages.sms?.enabled !== false
      const carriesMms = isIn(system.mms_carriers, carrier) && messages.mms?.enabled !== false
      const ofNumber = {
        state,
        usedBy,
        isLocal: isLocal(carrier),
        ownAllowed,
        ownDenied,
        carriesSms,
        carriesMms,
      }
      return availableFeatures({ ...ofAccount, ...ofNumber, isOperator })
    }
  }

  const assertFailover = async (accountId: string, doc: NumberDoc, before: NumberRecord | undefined) => {
    const had = before?.accountId === accountId ? destinationsIn(before.doc) : []
    const problems = await destinations.problems({ id: accountId }, destinationsIn(doc), had)
    if (hasProblems(problems)) throw invalid(problems)
  }

  const available = async (subject: FeatureSubject & { accountId: string }, isOperator: boolean) =>
    (await availabilityIn(subject.accountId))(subject, isOperator)

  /** The address to store. An unchanged one keeps what an import set. */
  const addressOf = async (accountId: string, doc: NumberDoc, before: NumberRecord | undefined) => {
    const given = doc.e911 as E911
    const known = before?.accountId === accountId ? addressIn(before.hidden.features) : undefined
    const name = given.caller_name ?? known?.caller_name
    const named = name === undefined ? given : { ...given, caller_name: name }
    if (known && isKept(named, known)) return known
    const account = await findAccount(accountId)
    return asGiven({ ...given, caller_name: given.caller_name ?? callerNameOf(account?.doc.name) })
  }

  return {
    available,
    availabilityIn,

    /**
     * Applies the public fields. Unavailable features are refused if `asked`, else dropped: they come from an
     * earlier owner or settings.
     */
    async apply(
      facts: NumberFacts,
      {
        before,
        asked,
        isOperator,
      }: { before: NumberRecord | undefined; asked: boolean; isOperator: boolean },
    ): Promise<NumberFacts> {
      const { accountId, state, usedBy, carrier, hidden } = facts
      const number = { state, isLocal: isLocal(carrier) }
      if (!asksForFeatures(facts.doc)) {
        const features = activeFeatures(facts.doc, { ...number, available: [] })
        return { ...facts, hidden: { ...hidden, features } }
      }
      const may = await available({ accountId, state, usedBy, carrier, ...hidden }, isOperator)
      const refused = asked ? refusedFeature(facts.doc, may) : undefined
      if (refused) throw failure(numberForbidden, { cause: `feature ${refused} is not available` })
      const doc = asked ? facts.doc : withoutRefused(facts.doc, may)
      if (asked) await assertFailover(accountId, doc, before)
      const active = { ...number, available: may }
      const hasAddress = activeFeatures(doc, active).e911 !== undefined
      const complete = hasAddress ? { ...doc, e911: await addressOf(accountId, doc, before) } : doc
      return { ...facts, doc: complete, hidden: { ...hidden, features: activeFeatures(complete, active) } }
    },
  }
}
