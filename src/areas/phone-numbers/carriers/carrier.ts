import type { Json } from '../../../lib/json.ts'
import type { CarrierModule } from '../../../settings/carrier-names.ts'
import type { ChangeSet } from '../../../storage/change-set.ts'

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
export interface Order {
  /** The change that the number's move is part of: what a carrier keeps here is written with it or not at all. */
  set: ChangeSet
  /** Who gets it, or had it. */
  accountId: string
  number: string
  carrierData: Json
}

/** A source of numbers. */
export interface Carrier {
  module: CarrierModule
  /** Digits of a prefix that it can search by. */
  maximalPrefixLength: number
  /** Whether its numbers cost something. */
  isBillable: boolean
  search(search: CarrierSearch): Promise<Offer[]>
  /** Takes a number that the carrier offered; answers with what is to be kept of it. Repeating it does no harm. */
  order?(order: Order): Promise<Json>
  /** Gives a number back. */
  disconnect?(order: Order): Promise<void>
  /** What it knows of numbers, in its own words; `success` is good. Numbers it says nothing of are left out. */
  check?(numbers: readonly string[]): Promise<ReadonlyMap<string, string>>
}
