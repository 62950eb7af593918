import type { Clock } from './clock.ts'
import { createPrettyLine, jsonLine, type LogFormat, type LoggedError } from './log-format.ts'

export const logLevels = ['debug', 'info', 'warn', 'error', 'silent'] as const
export type LogLevel = (typeof logLevels)[number]

/** Fields must not contain secrets. */
export interface Log {
  enabled(level: LogLevel): boolean
  write(level: Exclude<LogLevel, 'silent'>, message: string, fields?: Record<string, unknown>): void
}

export interface LogOptions {
  logLevel: LogLevel
  logFormat: LogFormat
  /** Colored levels in pretty lines. */
  logColors: boolean
}

/** Includes the chain of causes. */
export const describeError = (error: unknown): LoggedError | string => {
  if (!(error instanceof Error)) return String(error)
  const { name, message, stack, cause } = error
  return { name, message, stack, ...(cause === undefined ? {} : { cause: describeError(cause) }) }
}

export const createLog = (
  { logLevel, logFormat, logColors }: LogOptions,
  clock: Clock,
  write: (lines: string) => void,
): Log => {
  const least = logLevels.indexOf(logLevel)
  const enabled = (asked: LogLevel) => logLevels.indexOf(asked) >= least
  const format = logFormat === 'json' ? jsonLine : createPrettyLine({ hasColors: logColors })
  return {
    enabled,
    write(level, message, fields = {}) {
      if (enabled(level)) write(format({ time: clock.now(), level, message, fields }))
    },
  }
}
