import { sequenceOf } from '../../../events/events.ts'
import { RemovedEntries } from './schema.ts'

// The entry that retention writes instead of those that it removes.

export const removalKind = 'audit'

/** Altered entries may contain any text. */
const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

export const removalIn = async (text: string) => {
  // Loaded on demand, because it slows every start.
  const { Check } = await import('typebox/value')
  const said = parsed(text)
  if (!Check(RemovedEntries, said)) return undefined
  const sequence = sequenceOf(said.sequence)
  return sequence === undefined ? undefined : { sequence, digest: said.digest }
}

export const removalText = (said: RemovedEntries) => JSON.stringify(said)
