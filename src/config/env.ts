import { type Config, readConfig, unknownSettings } from './config.ts'

/** The settings of this process. The only reader of the environment. */
export const configFromEnvironment = (): Config => readConfig(process.env)

/** Variables of this process that were most likely meant as settings. */
export const unknownInEnvironment = () => unknownSettings(process.env)
