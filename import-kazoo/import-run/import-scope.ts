import type { ImportScope } from '../../src/areas/system/imports/rules.ts'
import { Refusal } from '../../src/storage/saved-store.ts'
import { everything } from '../import-sections/section.ts'

// The scope is set when an import begins: later changes would not match the stored records.

/** Undefined and false are not named. */
export type NamedNarrowing = { [Key in keyof ImportScope]?: ImportScope[Key] | undefined }

const options: { readonly [Key in keyof ImportScope]: (value: ImportScope[Key]) => string | undefined } = {
  sinceMonth: (month) => (month === undefined ? undefined : `--since-month ${month}`),
  withoutCalls: (isSo) => (isSo ? '--without-cdrs' : undefined),
  withSystemNotices: (isSo) => (isSo ? '--system-notices' : undefined),
  allowMissing: (isSo) => (isSo ? '--allow-missing' : undefined),
  only: (ids) => (ids.length === 0 ? undefined : `--accounts ${ids.toSorted().join()}`),
}

const optionsOf = (narrowing: ImportScope) => ({
  sinceMonth: options.sinceMonth(narrowing.sinceMonth),
  withoutCalls: options.withoutCalls(narrowing.withoutCalls),
  withSystemNotices: options.withSystemNotices(narrowing.withSystemNotices),
  allowMissing: options.allowMissing(narrowing.allowMissing),
  only: options.only(narrowing.only),
})

export const narrowingOf = ({
  sinceMonth,
  withoutCalls = false,
  withSystemNotices = false,
  allowMissing = false,
  only = [],
}: NamedNarrowing): ImportScope => ({ sinceMonth, withoutCalls, withSystemNotices, allowMissing, only })

/** Throws if another scope is named now. */
export const sameNarrowing = (begun: ImportScope = everything, named: NamedNarrowing): ImportScope => {
  const [was, is] = [optionsOf(begun), optionsOf(narrowingOf(named))]
  const other = Object.entries(is).find(
    ([key, option]) => option !== undefined && option !== was[key as keyof ImportScope],
  )?.[1]
  if (other === undefined) return begun
  const all = Object.values(was).filter((option) => option !== undefined)
  throw new Refusal(
    `the import was begun ${all.length === 0 ? 'without such options' : `with ${all.join(' ')}`}, and cannot go on with ${other}: go on without it, or --undo and begin anew`,
  )
}
