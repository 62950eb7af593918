import type { Author } from '../../../storage/change-set.ts'
import { signal } from '../../../storage/signal.ts'

/** A number as an account has it. */
export interface OwnNumber {
  accountId: string
  number: string
}

/** An account has a number no longer: it is somebody else's, or nobody's. */
export const numberReleased = signal<OwnNumber>('number leaving')

/** A number of an account is written otherwise from now on. */
export const numberRenamed = signal<OwnNumber & { after: string }>('number renamed')

/** A number that an account was given, and charged for, before its carrier said no. */
export interface RefusedOrder {
  /** Of the errand `number_order`. */
  orderId: string
  number: string
  /** Whoever had asked for it, under the id of that request. */
  author: Author
  /** What it was charged with: see `actOf`. */
  act: string | undefined
  /** Who was to have it. */
  accountId: string
}

/** Told in the change set in which the number goes back to where it was, its counts included. */
export const numberOrderRefused = signal<RefusedOrder>('number order refused')
