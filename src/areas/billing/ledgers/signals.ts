import { signal } from '../../../storage/signal.ts'

export interface LedgerBooked {
  id: string
  doc: { name: string; topup?: unknown; notifications?: unknown }
}

/** `isSpent`: the balance becomes lower. */
export const balanceMoved = signal<{ account: LedgerBooked; isSpent: boolean }>('balance moved')
