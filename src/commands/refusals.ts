import { ConfigError } from '../config/config.ts'
import { codeOf, messageOf } from '../lib/error-facts.ts'
import { Failure, isOutage } from '../lib/failure.ts'
import { outageInWords } from '../storage/outages.ts'
import { Refusal } from '../storage/saved-store.ts'
import { status } from './statuses.ts'

/** What a person can do something about; undefined of faults of the program. */
export const reasonOf = (error: unknown): string | undefined => {
  if (error instanceof ConfigError) return `the settings are wrong:\n  ${error.mistakes.join('\n  ')}`
  if (isOutage(error)) return `the store cannot be used: ${outageInWords(error)}`
  // No room, no rights, no server: those of the system and of databases have a code.
  return error instanceof Refusal || typeof codeOf(error) === 'string' ? messageOf(error) : undefined
}

/** Runs a command; what keeps it from its work is told in a line, and the status is 1. */
export const printingRefusals = async (work: () => Promise<number>): Promise<number> => {
  try {
    return await work()
  } catch (error) {
    const reason = reasonOf(error)
    if (reason === undefined) throw error
    process.stderr.write(`crosspoint: ${reason}\n`)
    return status.failed
  }
}

/** Work of a command whose failures are refused with this text. */
export const refusingFailures = <T>(work: Promise<T>, textOf: (failure: Failure) => string): Promise<T> =>
  work.catch((error) => {
    throw error instanceof Failure && !isOutage(error) ? new Refusal(textOf(error), { cause: error }) : error
  })

/** Asked to end, it ends after tidying up what is not whole. */
export const tidyWhenInterrupted = () => {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.once(signal, () => process.exit(status.interrupted))
}
