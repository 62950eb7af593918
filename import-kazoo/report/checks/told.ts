import type { Adoption } from '../../../src/areas/adoption.ts'
import type { LegAdoption } from '../../../src/areas/cdrs/intake/adoption.ts'
import type { Check } from '../../../src/lib/check.ts'
import type { Author } from '../../../src/storage/change-set.ts'
import type { Store } from '../../../src/storage/store.ts'
import type { Chapter, Facts } from '../../chapters/chapter.ts'
import type { Respond } from '../../comparing/sources.ts'
import type { RunStore } from '../../running/store.ts'
import type { CheckedStore } from '../store.ts'

/** What checks of an import look at: the source, what was noted while it was read, and what stands here. */
export interface CheckTools {
  run: RunStore
  checked: CheckedStore
  records: Store['records']
  facts: Facts
  chapters: readonly Chapter[]
  adoptions: Readonly<Record<string, Adoption>>
  legAdoption: LegAdoption
  author: Author
  respond: Respond
}

/** Hears of each fault. */
export type Tell = Parameters<Check['run']>[0]

/** `expected 5, found 3, difference -2` */
export const difference = (what: string, expected: number, found: number) =>
  `${what}: expected ${expected}, found ${found}, difference ${found - expected}`

const atOnce = 500

/** The same in parts that are looked up at once. */
export const inParts = <T>(all: readonly T[]): T[][] =>
  Array.from({ length: Math.ceil(all.length / atOnce) }, (_, part) =>
    all.slice(part * atOnce, (part + 1) * atOnce),
  )
