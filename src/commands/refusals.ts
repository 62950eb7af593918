import { ConfigError } from '../config/config.ts'
import { codeOf, messageOf } from '../lib/error-facts.ts'
import { Failure, isOutage } from '../lib/failure.ts'
import { outageInWords } from '../storage/outages.ts'
import { Refusal } from '../storage/saved-store.ts'
import { status } from './statuses.ts'

/** Errors that an operator can fix; undefined for faults of the program. */
export const reasonOf = (error: unknown): string | undefined => {
  if (error instanceof ConfigError) return `invalid configuration:\n  ${error.mistakes.join('\n  ')}`
  if (isOutage(error)) return `the store cannot be used: ${outageInWords(error)}`
  // System and database errors have a code.
  return error instanceof Refusal || typeof codeOf(error) === 'string' ? messageOf(error) : undefined
}

/** Prints a refusal; the status is then 1. */
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

/** A failure of the work becomes a refusal with this text. */
export const refusingFailures = <T>(work: Promise<T>, textOf: (failure: Failure) => string): Promise<T> =>
  work.catch((error) => {
    throw error instanceof Failure && !isOutage(error) ? new Refusal(textOf(error), { cause: error }) : error
  })

/** Runs exit handlers, which remove incomplete files. */
export const tidyWhenInterrupted = () => {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.once(signal, () => process.exit(status.interrupted))
}
