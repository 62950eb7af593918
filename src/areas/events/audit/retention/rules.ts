import { sequenceText } from '../../../../events/events.ts'
import { gregorianOfUnix } from '../../../../lib/gregorian.ts'
import { removalKind } from '../removal.ts'
import type { RemovedEntries } from '../schema.ts'

/** What retention looks at of an entry. */
export interface OldEntry {
  sequence: number
  /** Unix milliseconds. */
  at: number
  kind: string
  action: string
  digest: string
}

const isLine = ({ kind, action }: OldEntry) => kind === removalKind && action === 'deleted'

/**
 * Of entries in the order of the chain those that are removed: the oldest ones, up to the first that is kept. Lines that
 * tell of what was removed go with others, or they would give way to nothing but lines.
 */
export const removable = (entries: readonly OldEntry[], before: number): readonly OldEntry[] => {
  const kept = entries.findIndex(({ at }) => at >= before)
  const old = kept < 0 ? entries : entries.slice(0, kept)
  return old.every(isLine) ? [] : old
}

/** What the line says that is left in the place of entries. */
export const lineOf = (removed: readonly OldEntry[], last: OldEntry): RemovedEntries => ({
  entries: removed.length,
  until: gregorianOfUnix(removed.reduce((latest, { at }) => Math.max(latest, at), 0) / 1000),
  sequence: sequenceText(last.sequence),
  digest: last.digest,
})
