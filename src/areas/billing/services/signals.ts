import type { AccountRecord } from '../../../auth/identity.ts'
import { signal } from '../../../storage/signal.ts'
import type { AcceptedLine } from './agreed.rules.ts'

/** Immediate charges and refunds of a change set. */
interface AgreedCharges {
  account: AccountRecord
  due: readonly AcceptedLine[]
}

/** The account accepted the charges, or need not. */
export const chargesAccepted = signal<AgreedCharges>('charges agreed')
