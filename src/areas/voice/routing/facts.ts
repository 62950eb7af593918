// Facts of a routing decision. If the decision needs a fact that is missing, the caller looks it up and starts the decision
// again. So the decision is pure, and only needed facts are read.
import type { AccountDoc, UserDoc } from '../../../auth/identity.ts'
import type { Pattern } from '../../../lib/pattern.ts'
import type { AllowedCallerIds } from '../../billing/limits/operations.ts'
import type { EffectiveLimits } from '../../billing/limits/schema.ts'
import type { E911 } from '../../numbers/phone-numbers/schema.ts'
import type { CallflowDoc } from '../callflows/schema.ts'
import type { TrunkTarget } from '../connectivity/rules.ts'
import type { DeviceDoc } from '../devices/rules.ts'
import type { GroupDoc } from '../groups/schema.ts'
import type { Reached } from '../resources/hosts.rules.ts'
import type { GatewayTarget } from '../resources/operations.ts'
import type { Funds } from './offnet.rules.ts'

export interface AccountFacts {
  id: string
  doc: AccountDoc
  isDisabled: boolean
  /** The client may see the devices of the account. */
  isTold: boolean
}

export type UserFacts = { id: string; doc: UserDoc }
export type DeviceFacts = { id: string; accountId: string; doc: DeviceDoc }
export type CallflowFacts = { id: string; doc: CallflowDoc }

/** Each fact is asked for with an account and a key. */
export interface FactTable {
  account: AccountFacts
  user: UserFacts
  device: DeviceFacts
  /** The devices that ring for a user. */
  devicesOf: readonly string[]
  group: { id: string; doc: GroupDoc }
  callflow: CallflowFacts
  callflowOf: CallflowFacts
  patterned: readonly { id: string; patterns: readonly Pattern[] }[]
  /**
   * The account that has a phone number, on the whole system. A number that is not in service may be a foreign
   * one in any account.
   */
  numberOwner: { accountId: string; isInService: boolean; mustLeave: boolean }
  /** A number of the account for emergency services to call back: one with an address, if there is one. */
  callbackNumber: string
  /** The address that is registered for a number of the account. */
  emergencyAddress: E911
  limits: EffectiveLimits
  /** Numbers of other systems that the account may show. */
  allowedCallerIds: AllowedCallerIds
  /** Key: the classification of the number. */
  funds: Funds
  /** Key: a SIP place without user, as JSON. Undefined: calls to it are not sent. */
  destination: Reached
  /** Key: a `CarrierCallQuery` as JSON. */
  gateways: readonly GatewayTarget[]
  /** Key: a phone number. The server of the customer that takes its calls. */
  trunk: TrunkTarget | 'disabled'
}

export interface Want {
  what: keyof FactTable
  accountId: string
  key: string
}

export const factName = ({ what, accountId, key }: Want) => `${what}/${accountId}/${key}`

/** Known facts by name. Undefined under a name: it does not exist. */
export type KnownFacts = ReadonlyMap<string, FactTable[keyof FactTable] | undefined>

export type Asking = ReturnType<typeof createAsking>

export const createAsking = (known: KnownFacts) => {
  /** Facts that were asked for and are unknown. While there are some, the decision does not count. */
  const wants = new Map<string, Want>()
  return {
    wants,
    ask<What extends keyof FactTable>(what: What, accountId: string, key = '') {
      const want = { what, accountId, key }
      const name = factName(want)
      if (!known.has(name)) wants.set(name, want)
      return known.get(name) as FactTable[What] | undefined
    },
  }
}

export interface RouteQuery {
  /** Without realm and account, the call is from a carrier. */
  realm: string | undefined
  /** If the edge knows it. */
  accountId?: string | undefined
  number: string
  deviceId: string | undefined
  caller: string | undefined
  callerName?: string | undefined
  /** The caller wants not to be shown. */
  isWithheld?: boolean | undefined
}
