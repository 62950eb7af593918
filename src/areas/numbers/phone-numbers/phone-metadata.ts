import { createRequire } from 'node:module'
import type * as Metadata from 'libphonenumber-js/min'

const load = createRequire(import.meta.url)

let loaded: typeof Metadata | undefined

/** What is known of the numbers of all countries: 20 MB, loaded when the first number is asked about. */
export const phoneMetadata = (): typeof Metadata => {
  loaded ??= load('libphonenumber-js/min') as typeof Metadata
  return loaded
}
