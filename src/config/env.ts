import { type Config, readConfig } from './config.ts'

/** The settings of this process. The only reader of the environment. */
export const configFromEnvironment = (): Config => readConfig(process.env)
