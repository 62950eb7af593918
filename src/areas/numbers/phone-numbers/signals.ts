import type { Author } from '../../../storage/change-set.ts'
import { signal } from '../../../storage/signal.ts'

export interface OwnNumber {
  accountId: string
  number: string
}

/** An account has lost a number. */
export const numberReleased = signal<OwnNumber>('number leaving')

export const numberRenamed = signal<OwnNumber & { after: string }>('number renamed')

/** An account was charged for a number that its carrier then refused. */
export interface RefusedOrder {
  /** Id of the job `number_order`. */
  orderId: string
  number: string
  /** The author of the request. */
  author: Author
  /** See `actOf`. */
  act: string | undefined
  accountId: string
}

/** Part of the change set that restores the number and its counts. */
export const numberOrderRefused = signal<RefusedOrder>('number order refused')
