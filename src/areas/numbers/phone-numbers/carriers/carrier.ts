import type { Json } from '../../../../lib/json.ts'
import type { ChangeSet } from '../../../../storage/change-set.ts'

/** In the order in which clients get them. */
export const usableCarriers = [
  'bandwidth2',
  'bandwidth',
  'inum',
  'local',
  'inventory',
  'managed',
  'mdn',
  'other',
  'simwood',
  'telnyx',
  'vitelity',
  'voip_innovations',
  'voxbone',
  'didww',
  'flowroute',
  'inteliquent',
  'it_vocal',
  'level3',
  'o1',
  'peerless',
  'thinq',
  'verizon',
  'windstream',
  'ziron',
] as const

type CarrierName = (typeof usableCarriers)[number]

/** The two `reserved` modules only search. */
export type CarrierModule = `knm_${CarrierName | 'reserved' | 'reserved_reseller'}`

/** Modules that searches can ask. */
export const carrierModules: readonly CarrierModule[] = (
  [...usableCarriers, 'reserved', 'reserved_reseller'] as const
).map((name) => `knm_${name}` as const)

/** Modules that a number can have. */
export const numberModules = usableCarriers.map((name) => `knm_${name}` as const)

/** The name may have the prefix `knm_` or the older `wnm_`. */
export const moduleOf = (name: string): CarrierModule | undefined => {
  const bare = name.replace(/^[kw]nm_/, '')
  // The carrier's second interface serves numbers of its first one, too.
  const today = bare === 'bandwidth' && name !== bare ? 'bandwidth2' : bare
  const module = `knm_${today}`
  return carrierModules.find((one) => one === module)
}

export const carrierNameOf = (module: string) => module.replace(/^knm_/, '')

const longestPrefixes: ReadonlyMap<string, number> = new Map<CarrierModule, number>([
  ['knm_local', 10],
  ['knm_inventory', 10],
  ['knm_reserved', 10],
  ['knm_reserved_reseller', 10],
  ['knm_managed', 15],
  ['knm_inum', 15],
  ['knm_mdn', 0],
  ['knm_other', 10],
])

/** Most prefix digits of a search. External companies search by area code. */
export const maximalPrefixLengthOf = (module: string) => longestPrefixes.get(module) ?? 3

/** Without an account, reserved numbers are not shown. */
export interface Seeker {
  accountId?: string
  resellerId?: string
}

export interface CarrierSearch extends Seeker {
  /** E.164 with the plus. */
  prefix: string
  /** ISO 3166-1 alpha-2. */
  country: string
  quantity: number
  offset: number
  /** Aborted when the search times out. */
  signal: AbortSignal
}

export interface Offer {
  number: string
  /** `discovery`: the carrier has it; it is stored when an account takes it. */
  state: 'available' | 'reserved' | 'discovery'
  carrier: CarrierModule
  /** Sent to the carrier with the order. */
  carrierData?: Json
}

export interface Handover {
  /** The change set of the number's transition. */
  set: ChangeSet
  /** The new or former owner. */
  accountId: string
  number: string
  carrierData: Json
}

export interface CarrierRequest {
  number: string
  carrierData: Json
  /** The same for every repeat: the carrier does it once. */
  key: string
  signal: AbortSignal
}

/** `unknown`: it may have succeeded; a repeat shows the result. */
export type CarrierReply =
  | { outcome: 'accepted'; carrierData: Json }
  | { outcome: 'refused'; reason: string }
  | { outcome: 'unknown'; reason: string; isDown: boolean }

/** An external carrier. */
interface Supplier {
  /** Throws if it is not configured. Sends nothing. */
  assertReachable(): Promise<void>
  /** Returns the data to store for the number. */
  order(request: CarrierRequest): Promise<CarrierReply>
  release(request: CarrierRequest): Promise<CarrierReply>
}

export interface Carrier {
  module: string
  search(search: CarrierSearch): Promise<Offer[]>
  /** Marks an own number as taken. Returns the data to store for it. */
  take?(handover: Handover): Json
  /** Marks it as free again. */
  takeBack?(handover: Handover): void
  /** For external carriers. */
  supplier?: Supplier
  /** Status by number; `success` is good. Unknown numbers are left out. */
  check?(numbers: readonly string[]): Promise<ReadonlyMap<string, string>>
}
