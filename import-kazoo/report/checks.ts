import type { Importer } from '../../src/areas/adoption.ts'
import type { LegImporter } from '../../src/areas/calls/cdrs/intake/adoption.ts'
import { type AccountRecord, accountKind } from '../../src/auth/identity.ts'
import type { Fault } from '../../src/lib/check.ts'
import type { Author } from '../../src/storage/change-set.ts'
import type { Store } from '../../src/storage/store.ts'
import type { Respond } from '../comparing/source-keys.ts'
import { copiesDatabase } from '../conversions/account-tree.rules.ts'
import { type PlannedAccount, treeOf } from '../conversions/accounts.rules.ts'
import { databaseKindOf } from '../documents/database-names.ts'
import type { Converted, Draft } from '../documents/document.ts'
import { inParts } from '../import-run/at-once.ts'
import { monthNotesIn } from '../import-run/months.ts'
import { convertedOf } from '../import-run/reading.ts'
import { isRefused, isVanished, type RunStore } from '../import-run/store.ts'
import type { Facts, ImportSection } from '../import-sections/section.ts'
import { unlessVanished } from '../source/source.ts'
import type { CheckedStore } from './store.ts'

export interface CheckDeps {
  run: RunStore
  checked: CheckedStore
  records: Store['records']
  facts: Facts
  chapters: readonly ImportSection[]
  adoptions: Readonly<Record<string, Importer>>
  legAdoption: LegImporter
  author: Author
  respond: Respond
}

export type ReportFault = (fault: Fault) => void

/** `expected 5, found 3, difference -2` */
export const difference = (what: string, expected: number, found: number) =>
  `${what}: expected ${expected}, found ${found}, difference ${found - expected}`

const compare = (
  place: string,
  fields: readonly (readonly [field: string, expected: unknown, found: unknown])[],
  tell: ReportFault,
) => {
  for (const [field, expected, found] of fields)
    if (expected !== found) tell({ place, reason: `${field}: expected ${expected}, found ${found}` })
}

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

/** Converts the documents of a section again, unless a database vanished; returns whether all are there. */
export const convertAgain = async (
  { run, facts }: Pick<CheckDeps, 'run' | 'facts'>,
  chapter: ImportSection,
  check: (converted: readonly Converted[], database: string) => Promise<void>,
  done: (database: string) => Promise<void> = async () => undefined,
): Promise<boolean> => {
  let areAllThere = true
  for (const database of chapter.databases(facts)) {
    const row = await run.database(database)
    const checkAll = async () => {
      for await (const converted of convertedOf(chapter, facts, database))
        for (const some of inParts(converted)) await check(some, database)
      await done(database)
    }
    const isThere = !(row && isVanished(row)) && (await unlessVanished(checkAll))
    areAllThere &&= isThere
  }
  return areAllThere
}

/** The stored result of each document. */
export const withRows = async (
  { run }: Pick<CheckDeps, 'run'>,
  database: string,
  converted: readonly Converted[],
) => {
  const ids = converted.map(({ document }) => document.id)
  const known = await run.known(database, ids)
  return converted.map((one) => ({ one, row: known.get(one.document.id) }))
}

/** In the order of names: months of one account follow each other. */
export async function* monthsRead({ run }: Pick<CheckDeps, 'run'>) {
  for await (const row of run.databases()) {
    const kind = databaseKindOf(row.name)
    if (kind.kind === 'month' && row.isWhole && !isVanished(row))
      yield { ...kind, database: row.name, notes: monthNotesIn(row) }
  }
}

const shown = (ids: readonly string[]) => (ids.length === 0 ? 'nobody' : ids.join(' '))

export const checkAccounts = async ({ run, checked, records, facts }: CheckDeps, tell: ReportFault) => {
  const { plan } = facts

  const checkAccount = async (
    { id, realm, nameClaim, isReseller }: PlannedAccount,
    tree: readonly string[],
    held: ReadonlyMap<string, string>,
  ) => {
    const record = await records.find(id, accountKind, id)
    if (!record) return
    const { doc, hidden } = record as AccountRecord
    const place = `account ${id}`
    const above = shown(treeOf(plan, id))
    compare(
      place,
      [
        ['tree', above, shown(hidden.tree)],
        ['accounts above it', above, shown(tree)],
        ['realm', realm, doc.realm],
        ['is_reseller', isReseller, hidden.isReseller],
      ],
      tell,
    )
    for (const [name, value] of Object.entries({ account_name: nameClaim, realm: realm.toLowerCase() }))
      if (held.get(name) !== value)
        tell({
          place,
          reason: `${name}: it is to be found by ${value}, and is found by ${held.get(name) ?? 'nothing'}`,
        })
  }

  const missing = new Set(plan.accounts.keys())
  let roots = 0
  for await (const ids of checked.accounts()) {
    const [trees, names] = [await checked.trees(ids), await checked.accountNames(ids)]
    // Accounts that were deleted there meanwhile are already reported.
    const known = await run.known(copiesDatabase, ids)
    for (const id of ids) {
      const planned = plan.accounts.get(id)
      missing.delete(id)
      if (planned) await checkAccount(planned, trees.get(id) ?? [], names.get(id) ?? new Map())
      else if (!known.has(id)) tell({ place: `account ${id}`, reason: 'it is here, and not in the source' })
    }
    roots += [...trees.values()].filter((tree) => tree.length === 0).length
  }
  for (const id of missing) tell({ place: `account ${id}`, reason: 'it is not there' })
  if (roots !== 1) tell({ place: 'the tree', reason: difference('accounts without a parent', 1, roots) })
}

const nobody = 'nobody'

/** All numbers are there with owner and state, and no others. */
export const checkNumbers = async (deps: CheckDeps, tell: ReportFault) => {
  const { checked, chapters } = deps
  const states = new Map<string, number>()

  const checkDrafts = async (drafts: readonly Draft[]) => {
    const found = await checked.numbers(drafts.map(({ id }) => id))
    for (const { id, accountId, facts: expected } of drafts) {
      const place = `number ${id}`
      const number = found.get(id)
      states.set(String(expected.state), (states.get(String(expected.state)) ?? 0) + 1)
      if (!number) tell({ place, reason: `owner: expected ${accountId || nobody}, found no such number` })
      else
        compare(
          place,
          [
            ['owner', accountId || nobody, number.accountId || nobody],
            ['state', expected.state, number.state],
            ['carrier', expected.carrier, number.carrier],
            ['used_by', expected.usedBy || 'nothing', number.usedBy || 'nothing'],
          ],
          tell,
        )
    }
  }

  const chapter = chapters.find(({ name }) => name === 'numbers')
  if (!chapter) return
  const isWhole = await convertAgain(deps, chapter, async (converted, database) => {
    const all = await withRows(deps, database, converted)
    const taken = all.filter(({ row }) => !row || !isRefused(row)).flatMap(({ one }) => one.drafts)
    await checkDrafts(taken.filter(({ as }) => as === 'number'))
  })
  // A vanished database makes counts useless.
  if (isWhole)
    compareCounts(states, await checked.numberStates(), (state, wanted, there) =>
      tell({ place: 'all numbers', reason: difference(`in state ${state}`, wanted, there) }),
    )
}
