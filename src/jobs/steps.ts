import type { AccountRecord } from '../auth/identity.ts'
import type { Author, ChangeSet } from '../storage/change-set.ts'

/** A piece of work on an account, planned but not done: whoever asked commits it together with the books. */
export interface Step {
  sets: readonly ChangeSet[]
  /** How many things the step puts right. */
  changed: number
  /** Where the next step begins; absent after the last one. */
  next?: string
  /** What had to be left as it is, in public words. */
  problem?: string
}

/**
 * Work on everything an account has, in steps of bounded size. What a step plans counts only if it is committed:
 * a step that was lost is planned again from the same position.
 */
export type StepwiseWork = (author: Author, account: AccountRecord, position?: string) => Promise<Step>
