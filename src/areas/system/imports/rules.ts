/** What an import leaves out of its source, or includes beside the usual. */
export interface ImportScope {
  /** Months before it are left out; undefined: none. Like 202611. */
  sinceMonth: number | undefined
  withoutCalls: boolean
  /** Whether the system's own notices are imported. */
  withSystemNotices: boolean
  /** Whether the import continues without what a storage plan keeps elsewhere. */
  allowMissing: boolean
  /** Only these accounts, with all accounts below and above them; none: all accounts. */
  only: readonly string[]
}

export interface ImportState {
  /**
   * Nothing else is written while an import is `under_way` or `being_undone`, and a finished one is not begun again. One that
   * is being undone can only be undone completely: some of what it stored is gone.
   */
  status: 'under_way' | 'being_undone' | 'finished'
  /** In words, without credentials. */
  source: string
  /** Gregorian seconds. */
  begun: number
  finished?: number
  narrowing?: ImportScope
}

/** What half of an undone import leads to. */
export const beingUndone =
  'an import from Kazoo is being undone, and nobody writes until it is: crosspoint import kazoo --undo completes it'
