import type { AccountRecord } from '../../auth/identity.ts'
import { signal } from '../../storage/signal.ts'
import type { Activation } from './pricing/invoices.ts'

/** Whose invoices charge something once, and for what. */
export interface Activated {
  account: AccountRecord
  activations: readonly Activation[]
}

/** An account has more of what is charged once, when it is added. */
export const activated = signal<Activated>('activated')
