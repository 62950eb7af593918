import { datastoreFull, Failure, isFailure } from '../lib/failure.ts'

// The public reason for failing writes: messages of a database contain hosts and files.

/** The error of triggers in a moved store; PostgreSQL adds the code. */
export const movedText = 'the store was moved'
export const movedCode = 'XP001'

export const noDatabase = 'it does not respond'

const outageTexts: readonly [pattern: RegExp, says: string][] = [
  [/^25006 |readonly database|read-only/, 'it is read-only, or a standby'],
  [/^57P0|starting up|shutting down|recovery/, 'it is starting, stopping or recovering'],
  [/database is (?:locked|busy)/, 'another process has been writing for too long'],
  [/^58|disk I\/O error|unable to open database file/, 'its disk reports errors'],
  [/^53/, 'it is out of memory or connections'],
]

const textOf = ({ cause }: Failure) => {
  if (!(cause instanceof Error)) return ''
  const code = 'code' in cause && typeof cause.code === 'string' ? cause.code : ''
  return `${code} ${cause.message}`
}

export const outageInWords = (error: unknown) => {
  if (!(error instanceof Failure)) return noDatabase
  if (isFailure(error, datastoreFull)) return 'its disk is full'
  const text = textOf(error)
  return outageTexts.find(([pattern]) => pattern.test(text))?.[1] ?? noDatabase
}
