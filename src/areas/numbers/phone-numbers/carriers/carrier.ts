import type { Json } from '../../../../lib/json.ts'
import type { ChangeSet } from '../../../../storage/change-set.ts'

/** Names of carriers as clients give and get them, in the order in which they are told. */
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

/** The name under which a number keeps its carrier. The two `reserved` modules only search. */
export type CarrierModule = `knm_${CarrierName | 'reserved' | 'reserved_reseller'}`

/** The modules that may be asked for numbers, as settings name them. */
export const carrierModules: readonly CarrierModule[] = (
  [...usableCarriers, 'reserved', 'reserved_reseller'] as const
).map((name) => `knm_${name}` as const)

/** The modules that a number may have. */
export const numberModules = usableCarriers.map((name) => `knm_${name}` as const)

/** The module that a name means: with or without its prefix, with the prefix of old installations. */
export const moduleOf = (name: string): CarrierModule | undefined => {
  const bare = name.replace(/^[kw]nm_/, '')
  // The first interface of this carrier is gone; what it brought is served by the second.
  const today = bare === 'bandwidth' && name !== bare ? 'bandwidth2' : bare
  const module = `knm_${today}`
  return carrierModules.find((one) => one === module)
}

/** A module's name without its prefix, as clients read it. */
export const carrierNameOf = (module: string) => module.replace(/^knm_/, '')

const free: ReadonlySet<string> = new Set([
  'knm_local',
  'knm_inventory',
  'knm_reserved',
  'knm_reserved_reseller',
  'knm_inum',
  'knm_mdn',
])

/** Whether numbers of a carrier cost something by being there. */
export const isBillable = (module: string) => !free.has(module)

const prefixLengths: Readonly<Partial<Record<CarrierModule, number>>> = {
  knm_local: 10,
  knm_inventory: 10,
  knm_reserved: 10,
  knm_reserved_reseller: 10,
  knm_managed: 15,
  knm_inum: 15,
  knm_mdn: 0,
  knm_other: 10,
}

const longestPrefixes: ReadonlyMap<string, number> = new Map(Object.entries(prefixLengths))

/** Digits of a prefix that a carrier can search by. Carriers that are outside companies take an area code. */
export const maximalPrefixLengthOf = (module: string) => longestPrefixes.get(module) ?? 3

/** Who looks for numbers. Without an account, nothing that somebody has reserved is shown. */
export interface Seeker {
  accountId?: string
  resellerId?: string
}

export interface CarrierSearch extends Seeker {
  /** E.164: with the plus. */
  prefix: string
  /** ISO 3166-1 alpha-2. */
  country: string
  quantity: number
  offset: number
  /** Aborted when nobody waits any longer. */
  signal: AbortSignal
}

/** A number that a carrier has to give. */
export interface Offer {
  /** E.164 */
  number: string
  /** `discovery`: the carrier has it; the store learns of it when somebody takes it. */
  state: 'available' | 'reserved' | 'discovery'
  carrier: CarrierModule
  /** What the carrier wants to see again when the number is ordered. */
  carrierData?: Json
}

/** A number that changes hands. */
export interface Handover {
  /** The change that the number's move is part of: what a carrier keeps here is written with it or not at all. */
  set: ChangeSet
  /** Who gets it, or had it. */
  accountId: string
  number: string
  carrierData: Json
}

/** What somebody outside is asked for. */
export interface Request {
  number: string
  carrierData: Json
  /** The same for every repeat: whoever is asked does it once. */
  key: string
  signal: AbortSignal
}

/** What became of a request. `unknown`: nobody can say whether it was carried out; asking again will tell. */
export type Reply =
  | { outcome: 'accepted'; carrierData: Json }
  | { outcome: 'refused'; reason: string }
  | { outcome: 'unknown'; reason: string; isDown: boolean }

/** Where a carrier's numbers are when they are not here. */
interface Supplier {
  /** Throws when nothing can be ordered as things are configured. Asks nobody. */
  assertReachable(): Promise<void>
  /** Takes a number that the carrier offered; tells what is to be kept of it. */
  order(request: Request): Promise<Reply>
  /** Gives a number back. */
  release(request: Request): Promise<Reply>
}

/** A source of numbers. */
export interface Carrier {
  module: string
  /** Digits of a prefix that it can search by. */
  maximalPrefixLength: number
  /** Whether its numbers cost something. */
  isBillable: boolean
  search(search: CarrierSearch): Promise<Offer[]>
  /** Notes that a number of its own is taken; answers with what is to be kept of it. */
  take?(handover: Handover): Json
  /** Notes that it is free again. */
  takeBack?(handover: Handover): void
  /** Who is asked for numbers, after the commit of what asks for them. */
  supplier?: Supplier
  /** What it knows of numbers, in its own words; `success` is good. Numbers it says nothing of are left out. */
  check?(numbers: readonly string[]): Promise<ReadonlyMap<string, string>>
}
