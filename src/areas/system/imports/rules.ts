/** What an import leaves out or includes. */
export interface ImportScope {
  /** Earlier months are left out, such as 202611. */
  sinceMonth: number | undefined
  withoutCalls: boolean
  withSystemNotices: boolean
  /** Continue without files that a storage plan keeps elsewhere. */
  allowMissing: boolean
  /** With all parent and sub-accounts; none: all accounts. */
  only: readonly string[]
}

export interface ImportState {
  /** `under_way` and `being_undone` block all other writes. An undo cannot be cancelled: some imported records are deleted already. */
  status: 'under_way' | 'being_undone' | 'finished'
  /** Without credentials. */
  source: string
  /** Gregorian seconds. */
  begun: number
  finished?: number
  narrowing?: ImportScope
}

export const beingUndone =
  'an import from Kazoo is being undone, so writes are disabled: complete it with `crosspoint import kazoo --undo`'
