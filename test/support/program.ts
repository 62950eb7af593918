import { join } from 'node:path'
import { programOf } from '../../scripts/bundle.mjs'

/** What Node runs as `crosspoint`, as the launcher would: the bundle, where one of these sources has been built. */
export const program = programOf(join(import.meta.dirname, '../..'))
