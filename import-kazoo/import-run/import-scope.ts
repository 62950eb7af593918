import type { ImportScope } from '../../src/areas/system/imports/rules.ts'
import { Refusal } from '../../src/storage/saved-store.ts'
import type { BatchProgress } from './reading.ts'

// The scope is set when an import begins: later changes would not match the stored records.

/** Undefined and false are not named. */
export type NamedScope = { [Key in keyof ImportScope]?: ImportScope[Key] | undefined }

export interface ImportRunOptions extends NamedScope {
  onBatch?(progress: BatchProgress): void
}

const optionsOf = ({ sinceMonth, withoutCalls, withSystemNotices, allowMissing, only }: ImportScope) =>
  [
    sinceMonth === undefined ? '' : `--since-month ${sinceMonth}`,
    withoutCalls ? '--without-cdrs' : '',
    withSystemNotices ? '--system-notices' : '',
    allowMissing ? '--allow-missing' : '',
    only.length === 0 ? '' : `--accounts ${only.toSorted().join()}`,
  ].filter((option) => option !== '')

export const scopeOf = ({
  sinceMonth,
  withoutCalls = false,
  withSystemNotices = false,
  allowMissing = false,
  only = [],
}: NamedScope): ImportScope => ({ sinceMonth, withoutCalls, withSystemNotices, allowMissing, only })

/** The complete source. */
export const everything = scopeOf({})

/** Throws if another scope is named now. */
export const requireSameScope = (begun: ImportScope = everything, named: NamedScope): ImportScope => {
  const was = optionsOf(begun)
  const other = optionsOf(scopeOf(named)).find((option) => !was.includes(option))
  if (other === undefined) return begun
  throw new Refusal(
    `the import was begun ${was.length === 0 ? 'without such options' : `with ${was.join(' ')}`}, and cannot continue with ${other}: continue without it, or use --undo and start again`,
  )
}
