import {
  type AccountRecord,
  type Actor,
  disabledOf,
  isAbove,
  isSuperduper,
  userKind,
} from '../../../auth/identity.ts'
import { withoutControlCharacters } from '../../../lib/control-characters.ts'
import { failure, forbidden } from '../../../lib/failure.ts'
import type { Records } from '../../../storage/records.ts'
import type { Accounts } from '../../accounts/accounts/operations.ts'
import type { DepsOf } from '../../area.ts'
import type { LimitsOfAccounts } from '../../billing/limits/operations.ts'
import type { Numbers } from '../../numbers/phone-numbers/operations.ts'
import type { E911 } from '../../numbers/phone-numbers/schema.ts'
import type { Callflows } from '../callflows/operations.ts'
import type { Trunks } from '../connectivity/operations.ts'
import type { Devices } from '../devices/operations.ts'
import type { Groups } from '../groups/operations.ts'
import type { Destinations } from '../resources/destinations.operations.ts'
import type { Resources } from '../resources/operations.ts'
import { refuseCall } from './answers.rules.ts'
import type { CallflowQuery } from './call.rules.ts'
import { type FactTable, factName, type RouteQuery } from './facts.ts'
import { decideRoute } from './rules.ts'
import type { RunningCallRegister } from './running.operations.ts'
import type { RouteAnswer } from './schema.ts'
import { routingSettings } from './settings.ts'

interface Deps extends DepsOf<'settings'> {
  records: Records
  accounts: Accounts
  devices: Devices
  callflows: Callflows
  groups: Groups
  numbers: Numbers
  limits: LimitsOfAccounts
  running: Pick<RunningCallRegister, 'fundsFor'>
  carriers: Pick<Resources, 'targetsFor'>
  destinations: Pick<Destinations, 'reach'>
  trunks: Pick<Trunks, 'trunkFor'>
}

type Fact = FactTable[keyof FactTable] | undefined
type Look = (accountId: string, key: string) => Promise<Fact>

// Bound against an endless decision: no flow is that deep.
const maxRounds = 100

// Numbers among which a callback number is searched.
const maxNumbers = 100

const mayAsk = (actor: Actor, account: AccountRecord) => isSuperduper(actor) || isAbove(actor, account)

/** How facts are looked up. Each call asks, so reads are cached or use an index. */
const looksFor = (deps: Deps, actor: Actor): Record<keyof FactTable, Look> => {
  const { records, accounts, devices, callflows, groups, numbers, limits } = deps

  const ofAccount =
    (look: (account: AccountRecord, key: string) => Promise<Fact>): Look =>
    async (accountId, key) => {
      const account = await accounts.find(accountId)
      return account && look(account, key)
    }

  return {
    account: ofAccount(async (account) => ({
      id: account.id,
      doc: account.doc,
      isDisabled: (await disabledOf(records, account)) !== undefined,
      isTold: mayAsk(actor, account),
    })),
    user: (accountId, key) => records.find(accountId, userKind, key),
    device: devices.find,
    devicesOf: devices.reaching,
    group: groups.find,
    callflow: callflows.find,
    callflowOf: callflows.byNumber,
    patterned: callflows.patterned,
    async numberOwner(_accountId, key) {
      const number = await numbers.findAnywhere(key)
      if (!number?.accountId) return undefined
      const { accountId, state, hidden } = number
      const isInService = state === 'in_service'
      return { accountId, isInService, mustLeave: !isInService || hidden.features.force_outbound === true }
    },
    async callbackNumber(accountId) {
      const first = await numbers.store.page({ accountId, limit: maxNumbers, descending: false })
      const inService = first.filter(({ state }) => state === 'in_service')
      return (inService.find(({ doc }) => doc.e911 !== undefined) ?? inService[0])?.id
    },
    async emergencyAddress(accountId, key) {
      const number = await numbers.findAnywhere(await numbers.normalize(key))
      return number?.accountId === accountId ? (number.doc.e911 as E911 | undefined) : undefined
    },
    limits: ofAccount((account) => limits.inForce(account)),
    allowedCallerIds: ofAccount((account) => limits.callerIds(account)),
    funds: ofAccount((account, classification) =>
      deps.running.fundsFor(account, { direction: 'outbound', classification }),
    ),
    gateways: ofAccount((account, key) => deps.carriers.targetsFor(account, JSON.parse(key))),
    destination: (accountId, key) => deps.destinations.reach(accountId, JSON.parse(key)),
    trunk: (_accountId, key) => deps.trunks.trunkFor(key),
  }
}

export type Routing = ReturnType<typeof createRouting>

/** Decides where calls go. */
export const createRouting = (deps: Deps) => {
  const { settings, accounts, devices, numbers } = deps

  const decide = async (actor: Actor, question: CallflowQuery): Promise<RouteAnswer> => {
    const { flat_rate_classifiers: classifiers } = await settings.of(routingSettings)
    const rules = { numbering: await numbers.planning.rules(), flatRate: { classifiers } }
    const looks = looksFor(deps, actor)
    const known = new Map<string, Fact>()
    for (let round = 0; round < maxRounds; round += 1) {
      const decided = decideRoute(question, known, rules)
      if ('answer' in decided) return withoutControlCharacters(decided.answer)
      const found = await Promise.all(
        decided.wants.map(({ what, accountId, key }) => looks[what](accountId, key)),
      )
      for (const [index, want] of decided.wants.entries()) known.set(factName(want), found[index])
    }
    throw new Error('a route does not end')
  }

  /** The account that calls: that with the realm, or with the device that names the realm. */
  const callerOf = async ({ realm, accountId, deviceId }: RouteQuery) => {
    if (accountId !== undefined) return accounts.find(accountId)
    if (realm === undefined) return undefined
    const owner = await accounts.byRealm(realm)
    if (owner || deviceId === undefined) return owner
    const device = await devices.underRealm(realm, deviceId)
    return device && accounts.find(device.accountId)
  }

  const fromCaller = async (actor: Actor, question: RouteQuery): Promise<RouteAnswer> => {
    const { number, deviceId, caller, isWithheld } = question
    const account = await callerOf(question)
    if (account && mayAsk(actor, account))
      return decide(actor, { accountId: account.id, from: 'account', number, deviceId, caller, isWithheld })
    if (account?.id === actor.accountId)
      throw failure(forbidden, { cause: 'only parent accounts of a realm may query it' })
    return refuseCall('unknown_realm', number)
  }

  const fromCarrier = async (
    actor: Actor,
    { number, caller, callerName, isWithheld }: RouteQuery,
  ): Promise<RouteAnswer> => {
    const { normalize, isReconcilable } = await numbers.planning.rules()
    const written = normalize(number)
    const stored = isReconcilable(written) ? await numbers.findAnywhere(written) : undefined
    const owner = stored?.state === 'in_service' ? await accounts.find(stored.accountId) : undefined
    if (!owner || !mayAsk(actor, owner)) return refuseCall('unknown_number', written)
    const question = { accountId: owner.id, from: 'carrier', number: written } as const
    return decide(actor, { ...question, caller, callerName, isWithheld })
  }

  return {
    /** A realm or number that the actor may not see is answered like an unknown one. */
    route: (actor: Actor, question: RouteQuery): Promise<RouteAnswer> =>
      question.realm === undefined && question.accountId === undefined
        ? fromCarrier(actor, question)
        : fromCaller(actor, question),
  }
}
