import { type Clock, isoTime } from './clock.ts'

export const logLevels = ['debug', 'info', 'warn', 'error', 'silent'] as const
export type LogLevel = (typeof logLevels)[number]

/** JSON lines for operators. Fields must not hold secrets. */
export interface Log {
  enabled(level: LogLevel): boolean
  write(level: Exclude<LogLevel, 'silent'>, message: string, fields?: Record<string, unknown>): void
}

/** An error and the chain of its causes, outermost first. */
export const describeError = (error: unknown): unknown => {
  if (!(error instanceof Error)) return String(error)
  const { name, message, stack, cause } = error
  return { name, message, stack, ...(cause === undefined ? {} : { cause: describeError(cause) }) }
}

// JSON leaves these as they are, and to some readers of logs they end a line.
const otherBreaks = /[\u007f-\u009f\u2028\u2029]/g

const escaped = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`

export const createLog = (level: LogLevel, clock: Clock, write: (line: string) => void): Log => {
  const least = logLevels.indexOf(level)
  const enabled = (asked: LogLevel) => logLevels.indexOf(asked) >= least
  return {
    enabled,
    write(at, message, fields) {
      if (enabled(at))
        write(
          `${JSON.stringify({ time: isoTime(clock.now()), level: at, message, ...fields }).replace(otherBreaks, escaped)}\n`,
        )
    },
  }
}
