import { signal } from '../../../storage/signal.ts'

/** Whose money moves. */
export interface LedgerBooked {
  id: string
  doc: { name: string; topup?: unknown; notifications?: unknown }
}

/** Something is booked for or against an account. `isSpent`: its money becomes less. */
export const balanceMoved = signal<{ account: LedgerBooked; isSpent: boolean }>('balance moved')
