// What a decision has to know. It asks for one thing after the other; what it does not know yet is looked up, and it is
// made anew: so the decision is pure, and nothing is read that it does not ask for.
import type { AccountDoc, UserDoc } from '../../../auth/identity.ts'
import type { Pattern } from '../../../lib/pattern.ts'
import type { AllowedCallerIds } from '../../billing/limits/operations.ts'
import type { EffectiveLimits } from '../../billing/limits/schema.ts'
import type { E911 } from '../../numbers/phone-numbers/schema.ts'
import type { CallflowDoc } from '../callflows/schema.ts'
import type { TrunkTarget } from '../connectivity/rules.ts'
import type { DeviceDoc } from '../devices/rules.ts'
import type { GroupDoc } from '../groups/schema.ts'
import type { Reached } from '../resources/destinations.operations.ts'

export interface AccountFacts {
  id: string
  doc: AccountDoc
  isDisabled: boolean
  /** Whether whoever asks may know of its devices. */
  isTold: boolean
}

export interface UserFacts {
  id: string
  doc: UserDoc
}

export interface DeviceFacts {
  id: string
  accountId: string
  doc: DeviceDoc
}

export interface CallflowFacts {
  id: string
  doc: CallflowDoc
}

export type Trunk = 'inbound_trunks' | 'outbound_trunks' | 'twoway_trunks' | 'burst_trunks'

/** A running call over a carrier: the trunk that it takes, and what it costs if it ends now, in units. */
export interface Reserved {
  trunk?: Trunk | undefined
  cost: number
}

/** What an account can pay a call with. Money in units. */
export interface Funds {
  balance: number
  /** How far below nothing the balance may go. */
  overdraft: number
  isPrepaid?: boolean
  /** Its running calls over carriers. */
  reserved?: readonly Reserved[]
  /** What is included for such calls, when something is left of it. */
  allotment?: string
}

/** A way out of the platform, as the resources of an account offer it for a number. */
export interface GatewayTarget {
  resource_id: string
  /** `sip:host:port;transport=udp` */
  uri: string
  /** As the carrier wants it. */
  number: string
  username?: string
  realm?: string
  ha1?: string
  proxy?: string
  codecs?: readonly string[]
  progress_timeout_s: number
  failover_codes: readonly number[]
  /** The domain of the caller in the call, instead of the realm of the account. */
  from_realm?: string
  headers?: Readonly<Record<string, string>>
}

/** A number that leaves the platform. */
export interface OutsideNumber {
  /** E.164; of emergency numbers as it was dialled. */
  number: string
  classification: string | undefined
  emergency: boolean
  /** Marks of the device by which carriers are chosen. */
  flags: readonly string[]
  /** What the carrier is shown. */
  callerNumber?: string
  /** The account whose carriers alone are taken. */
  huntAccountId?: string
  /** Carriers of accounts are not taken. */
  isGlobalOnly?: true
}

/** The facts by what they are about; each is asked for with an account and a key in it. */
export interface FactTable {
  account: AccountFacts
  user: UserFacts
  device: DeviceFacts
  /** The ids of the devices at which a user is reached. */
  devicesOf: readonly string[]
  group: { id: string; doc: GroupDoc }
  callflow: CallflowFacts
  /** The callflow that lists a number. */
  callflowOf: CallflowFacts
  patterned: readonly { id: string; patterns: readonly Pattern[] }[]
  /**
   * The account that a phone number belongs to, anywhere on this system. Any account may have a foreign number in another
   * state than in service.
   */
  numberOwner: { accountId: string; isInService: boolean; mustLeave: boolean }
  /** A number of the account that emergency services can call back: with a registered address, if one has it. */
  callbackNumber: string
  /** The address that a phone number of the account is registered with for emergency calls. */
  emergencyAddress: E911
  limits: EffectiveLimits
  /** Numbers of other systems that the account may show. */
  allowedCallerIds: AllowedCallerIds
  /** By the classification of the number. */
  funds: Funds
  /** By a SIP place without its user, as JSON text: where a call to it is sent now. Undefined: nowhere. */
  destination: Reached
  /** By an outside number as JSON text. */
  gateways: readonly GatewayTarget[]
  /** The server of a customer's own that takes the calls of a phone number, or that it is switched off. */
  trunk: TrunkTarget | 'disabled'
}

export interface Want {
  what: keyof FactTable
  accountId: string
  key: string
}

export const nameOf = ({ what, accountId, key }: Want) => `${what}/${accountId}/${key}`

/** What is known so far, by the name of what was wanted; undefined under a name: there is no such thing. */
export type Known = ReadonlyMap<string, FactTable[keyof FactTable] | undefined>

export interface Asking {
  ask<What extends keyof FactTable>(what: What, accountId: string, key?: string): FactTable[What] | undefined
  /** What was asked for and is not known: while there is something, the decision is none. */
  wants: ReadonlyMap<string, Want>
}

export const createAsking = (known: Known): Asking => {
  const wants = new Map<string, Want>()
  return {
    wants,
    ask<What extends keyof FactTable>(what: What, accountId: string, key = '') {
      const want = { what, accountId, key }
      const name = nameOf(want)
      if (!known.has(name)) wants.set(name, want)
      return known.get(name) as FactTable[What] | undefined
    },
  }
}

/** What an edge asks of a call. */
export interface RouteQuery {
  /** Without it and without an account a carrier brings the call. */
  realm: string | undefined
  /** Who has the realm, or is known by the address, where the edge has heard it already. */
  accountId?: string | undefined
  number: string
  deviceId: string | undefined
  caller: string | undefined
  callerName?: string | undefined
  /** The caller wants not to be shown. */
  isWithheld?: boolean
}
