import type { ImportedRecord } from '../../../src/areas/adoption.ts'
import type { LegImporter } from '../../../src/areas/calls/cdrs/intake/adoption.ts'
import type { Fault } from '../../../src/lib/check.ts'
import type { Author } from '../../../src/storage/change-set.ts'
import type { Store } from '../../../src/storage/store.ts'
import type { Respond } from '../../comparing/source-keys.ts'
import { databaseKindOf } from '../../documents/database-names.ts'
import type { Chapter, Facts } from '../../import-sections/section.ts'
import { monthNotesIn } from '../../running/months.ts'
import { isVanished, type RunStore } from '../../running/store.ts'
import { unlessVanished } from '../../source/source.ts'
import type { CheckedStore } from '../store.ts'

/** What checks of an import look at: the source, what was noted while it was read, and what is stored. */
export interface CheckDeps {
  run: RunStore
  checked: CheckedStore
  records: Store['records']
  facts: Facts
  chapters: readonly Chapter[]
  adoptions: Readonly<Record<string, ImportedRecord>>
  legAdoption: LegImporter
  author: Author
  respond: Respond
}

/** Called with each difference. */
export type Tell = (fault: Fault) => void

/** `expected 5, found 3, difference -2` */
export const difference = (what: string, expected: number, found: number) =>
  `${what}: expected ${expected}, found ${found}, difference ${found - expected}`

/** Tells each field that is another one than expected. */
export const compare = (
  place: string,
  fields: readonly (readonly [field: string, expected: unknown, found: unknown])[],
  tell: Tell,
) => {
  for (const [field, expected, found] of fields)
    if (expected !== found) tell({ place, reason: `${field}: expected ${expected}, found ${found}` })
}

/** Tells each name that is counted otherwise than expected. */
export const compareCounts = (
  expected: ReadonlyMap<string, number>,
  found: ReadonlyMap<string, number>,
  differs: (name: string, wanted: number, there: number) => void,
) => {
  for (const name of [...new Set([...expected.keys(), ...found.keys()])].sort()) {
    const [wanted, there] = [expected.get(name) ?? 0, found.get(name) ?? 0]
    if (wanted !== there) differs(name, wanted, there)
  }
}

/** Does something for each database of a chapter that has not vanished; false where one has. */
export const eachDatabase = async (
  { run, facts }: Pick<CheckDeps, 'run' | 'facts'>,
  chapter: Chapter,
  work: (database: string) => Promise<void>,
): Promise<boolean> => {
  let areAllThere = true
  for (const database of chapter.databases(facts)) {
    const row = await run.database(database)
    const isThere = !(row && isVanished(row)) && (await unlessVanished(() => work(database)))
    areAllThere &&= isThere
  }
  return areAllThere
}

/** The months that were read to their end, in the order of their names: those of one account together. */
export async function* monthsRead({ run }: Pick<CheckDeps, 'run'>) {
  for await (const row of run.databases()) {
    const kind = databaseKindOf(row.name)
    if (kind.kind === 'month' && row.isWhole && !isVanished(row))
      yield { ...kind, database: row.name, notes: monthNotesIn(row) }
  }
}
