import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { programOf } from '../../../scripts/bundle.mjs'

/**
 * The module that Node runs as `crosspoint`, as the launcher would: the bundle, where one of these sources has
 * been built.
 */
export const program = programOf(join(import.meta.dirname, '../../..'))

/** The module that makes sign-in keys cost little in a process or thread that loads it. */
export const quickKeys = pathToFileURL(join(import.meta.dirname, 'quick-keys.mjs')).href

/** `NODE_OPTIONS` of a process whose sign-in keys cost little, unless `CROSSPOINT_TEST_KEYS` is `real`. */
export const nodeOptions = (options = process.env.NODE_OPTIONS ?? '') => `--import=${quickKeys} ${options}`
