import type { CarrierModule } from '../carriers/names.ts'
import type { NumberFacts } from '../draft.ts'

/** What is known of an arriving number beside what is public. */
export type ImportedNumber = Pick<NumberFacts, 'state' | 'carrier' | 'usedBy' | 'hidden'>

/** What is known of a number that an account has in stock. */
export interface ImportedStock {
  carrier: Extract<CarrierModule, 'knm_managed' | 'knm_inum'>
  /** Somebody uses it. */
  isTaken: boolean
}
