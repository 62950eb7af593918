import type { AccountRecord } from '../../../auth/identity.ts'
import { signal } from '../../../storage/signal.ts'
import type { AgreedLine } from './agreed.rules.ts'

/** What an account pays at once, or is given back, for what a change set moves. */
interface AgreedCharges {
  account: AccountRecord
  due: readonly AgreedLine[]
}

/** Somebody who was asked, or need not be, pays for what changes here. */
export const chargesAgreed = signal<AgreedCharges>('charges agreed')
