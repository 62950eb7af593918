import type { Config } from '../config/config.ts'
import { systemClock } from '../lib/clock.ts'
import { createLog, type LogLevel } from '../lib/log.ts'

/** The log of a command that is no server, on standard error. `logLevel` replaces the level of the settings. */
export const createCommandLog = (config: Config, logLevel: LogLevel) =>
  createLog({ ...config, logLevel }, systemClock, (line) => process.stderr.write(line))
