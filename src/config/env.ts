import { homedir } from 'node:os'
import { join } from 'node:path'
import { type Config, hasDesktop, readConfig, unknownSettings } from './config.ts'

/** The only reader of the environment. */
export const configFromEnvironment = (): Config => {
  const { stderr } = process
  const isTerminal = stderr.isTTY === true
  return readConfig(process.env, { isTerminal, hasColors: isTerminal && stderr.hasColors() })
}

export const unknownInEnvironment = () => unknownSettings(process.env)

export const isAtDesktop = () => hasDesktop(process.env, process.platform)

export const personalFolder = () => {
  const { XDG_CONFIG_HOME: named, APPDATA: onWindows } = process.env
  return join(named || onWindows || join(homedir(), '.config'), 'crosspoint')
}

/** For programs that are started: PATH, and variables of PostgreSQL. */
export const environmentOfPrograms = (): NodeJS.ProcessEnv => ({ ...process.env })
