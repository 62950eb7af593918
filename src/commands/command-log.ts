import type { Config } from '../config/config.ts'
import { systemClock } from '../lib/clock.ts'
import { createLog, type LogLevel } from '../lib/log.ts'

/** Writes to standard error; `logLevel` replaces the configured level. */
export const createCommandLog = (config: Config, logLevel: LogLevel) =>
  createLog({ ...config, logLevel }, systemClock, (line) => process.stderr.write(line))
