import type { Json } from '../../../../lib/json.ts'
import type { ChangeSet } from '../../../../storage/change-set.ts'
import type { CarrierModule } from './names.ts'

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
