import type { AccountRecord } from '../auth/identity.ts'
import type { Author, ChangeSet } from '../storage/change-set.ts'

/** A planned, uncommitted piece of work on an account. */
export interface Step {
  sets: readonly ChangeSet[]
  /** Number of repaired things. */
  changed: number
  /** The position of the next step; undefined after the last one. */
  next?: string
  /** Why something was skipped, in public words. */
  problem?: string
}

/**
 * Work on an account in steps of bounded size. A step that was not committed is planned again from the same position.
 */
export type StepwiseWork = (author: Author, account: AccountRecord, position?: string) => Promise<Step>
