import type { AccountRecord } from '../../../auth/identity.ts'
import { signal } from '../../../storage/signal.ts'
import type { AcceptedLine } from './agreed.rules.ts'

/** What an account pays at once, or is given back, for what a change set moves. */
interface AgreedCharges {
  account: AccountRecord
  due: readonly AcceptedLine[]
}

/** Somebody who was asked, or need not be, pays for what changes here. */
export const chargesAccepted = signal<AgreedCharges>('charges agreed')
