// Error messages and exit statuses.
import { ChargesNeeded, CrosspointError, SignedOut, Unreachable } from '../client/src/core.ts'
import { status } from '../src/commands/statuses.ts'
import { Interrupted, Mistake, NotSignedIn, printable, type Terminal } from './terminal.ts'

const statusOf = (error: CrosspointError) => {
  if (error instanceof Unreachable) return status.unreachable
  if (error instanceof SignedOut) return status.notSignedIn
  return error instanceof ChargesNeeded ? status.chargesNotAccepted : status.failed
}

const reasonIn = (cause: unknown): string => {
  if (!(cause instanceof Error)) return ''
  const inner = reasonIn(cause.cause)
  return inner || ('code' in cause && typeof cause.code === 'string' ? cause.code : cause.message)
}

const headOf = (error: CrosspointError) => {
  if (error instanceof Unreachable) return `${error.message} (${reasonIn(error.cause)})`
  if (error instanceof SignedOut) return 'the session has ended: run crosspoint login'
  if (error.problems.length > 0) return `${error.status} ${error.kind}`
  return `${error.status} ${error.message}`
}

/** Field and rule as the server names them: scripts may search for them. */
const detailsOf = ({ problems, requestId }: CrosspointError) => [
  ...problems.map(({ field, rule, message }) => `${field} (${rule}): ${message}`),
  ...(requestId === undefined ? [] : [`request ID ${requestId}`]),
]

const printRefusal = (terminal: Terminal, error: CrosspointError) => {
  terminal.printError(`${terminal.paintError('red', 'crosspoint:')} ${printable(headOf(error))}`)
  for (const detail of detailsOf(error)) terminal.printError(`  ${printable(detail)}`)
  return statusOf(error)
}

const isSystemError = (error: unknown): error is Error => error instanceof Error && 'syscall' in error

/** Returns the exit status; throws unexpected errors. */
export const printFailure = (terminal: Terminal, error: unknown): number => {
  if (error instanceof Interrupted) return status.interrupted
  if (error instanceof CrosspointError) return printRefusal(terminal, error)
  if (!(error instanceof Mistake || isSystemError(error))) throw error
  terminal.printError(`${terminal.paintError('red', 'crosspoint:')} ${printable(error.message)}`)
  return error instanceof NotSignedIn ? status.notSignedIn : status.failed
}
