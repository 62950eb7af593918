import { sequenceOf } from '../../../events/events.ts'
import { RemovedEntries } from './schema.ts'

// The line that retention leaves in the place of what it removes.

export const removalKind = 'audit'

/** A text that somebody altered may be anything. */
const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** What such a line says; undefined when it is none. */
export const removalIn = async (text: string) => {
  // Loaded by whoever reads such a line: every start would wait for it.
  const { Check } = await import('typebox/value')
  const said = parsed(text)
  if (!Check(RemovedEntries, said)) return undefined
  const sequence = sequenceOf(said.sequence)
  return sequence === undefined ? undefined : { sequence, digest: said.digest }
}

export const removalText = (said: RemovedEntries) => JSON.stringify(said)
