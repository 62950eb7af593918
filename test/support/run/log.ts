import type { Log } from '../../../src/lib/log.ts'

export interface LogEntry {
  level: string
  message: string
  fields: Record<string, unknown> | undefined
}

/** Keeps what is logged, so that a test can ask. */
export const createTestLog = () => {
  const entries: LogEntry[] = []
  const log: Log = {
    enabled: (level) => level !== 'debug' && level !== 'silent',
    write: (level, message, fields) => void entries.push({ level, message, fields }),
  }
  return { log, entries, errors: () => entries.filter(({ level }) => level === 'error') }
}
