import { homedir } from 'node:os'
import { join } from 'node:path'
import { type Config, hasDesktop, readConfig, unknownSettings } from './config.ts'

/** The settings of this process. The only reader of the environment. */
export const configFromEnvironment = (): Config => {
  const { stderr } = process
  const isTerminal = stderr.isTTY === true
  return readConfig(process.env, { isTerminal, hasColors: isTerminal && stderr.hasColors() })
}

/** Variables of this process that were most likely meant as settings. */
export const unknownInEnvironment = () => unknownSettings(process.env)

/** Whether a browser that this process opens would be seen. */
export const isAtDesktop = () => hasDesktop(process.env, process.platform)

/** Where programs of this person keep what they remember. */
export const personalFolder = () => {
  const { XDG_CONFIG_HOME: named, APPDATA: onWindows } = process.env
  return join(named || onWindows || join(homedir(), '.config'), 'crosspoint')
}

/** What other programs are started with: PATH, and what PostgreSQL's own understand. */
export const environmentOfPrograms = (): NodeJS.ProcessEnv => ({ ...process.env })
