import type { ImportedRecord } from '../../src/areas/adoption.ts'
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
import type { Chapter, Facts } from '../import-sections/section.ts'
import { unlessVanished } from '../source/source.ts'
import type { CheckedStore } from './store.ts'

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

export type Tell = (fault: Fault) => void

/** `expected 5, found 3, difference -2` */
export const difference = (what: string, expected: number, found: number) =>
  `${what}: expected ${expected}, found ${found}, difference ${found - expected}`

const compare = (
  place: string,
  fields: readonly (readonly [field: string, expected: unknown, found: unknown])[],
  tell: Tell,
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

/** Skips vanished databases; returns false if there is one. */
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

/** In the order of names: months of one account follow each other. */
export async function* monthsRead({ run }: Pick<CheckDeps, 'run'>) {
  for await (const row of run.databases()) {
    const kind = databaseKindOf(row.name)
    if (kind.kind === 'month' && row.isWhole && !isVanished(row))
      yield { ...kind, database: row.name, notes: monthNotesIn(row) }
  }
}

const shown = (ids: readonly string[]) => (ids.length === 0 ? 'nobody' : ids.join(' '))

export const checkAccounts = async ({ run, checked, records, facts }: CheckDeps, tell: Tell) => {
  const { plan } = facts

  const judge = (planned: PlannedAccount, { id, doc, hidden }: AccountRecord, tree: readonly string[]) => {
    const place = `account ${id}`
    const above = treeOf(plan, id)
    compare(
      place,
      [
        ['tree', shown(above), shown(hidden.tree)],
        ['accounts above it', shown(above), shown(tree)],
        ['realm', planned.realm, doc.realm],
        ['is_reseller', planned.isReseller, hidden.isReseller],
      ],
      tell,
    )
  }

  const judgeNames = ({ id, realm, nameClaim }: PlannedAccount, held: ReadonlyMap<string, string>) => {
    const wanted = { account_name: nameClaim, realm: realm.toLowerCase() }
    for (const [name, value] of Object.entries(wanted))
      if (held.get(name) !== value)
        tell({
          place: `account ${id}`,
          reason: `${name}: it is to be found by ${value}, and is found by ${held.get(name) ?? 'nothing'}`,
        })
  }

  /** Accounts that were deleted there meanwhile are already reported. */
  const unplanned = async (ids: readonly string[]) => {
    const known = await run.known(copiesDatabase, ids)
    for (const id of ids)
      if (!known.has(id)) tell({ place: `account ${id}`, reason: 'it is here, and not in the source' })
  }

  const judgePage = async (ids: readonly string[]) => {
    const [trees, names] = [await checked.trees(ids), await checked.accountNames(ids)]
    for (const id of ids) {
      const planned = plan.accounts.get(id)
      const record = planned && (await records.find(id, accountKind, id))
      if (!planned || !record) continue
      judge(planned, record, trees.get(id) ?? [])
      judgeNames(planned, names.get(id) ?? new Map())
    }
    await unplanned(ids.filter((id) => !plan.accounts.has(id)))
    return [...trees.values()].filter((tree) => tree.length === 0).length
  }

  const missing = new Set(plan.accounts.keys())
  let roots = 0
  for await (const ids of checked.accounts()) {
    roots += await judgePage(ids)
    for (const id of ids) missing.delete(id)
  }
  for (const id of missing) tell({ place: `account ${id}`, reason: 'it is not there' })
  if (roots !== 1) tell({ place: 'the tree', reason: difference('accounts without a parent', 1, roots) })
}

const nobody = 'nobody'

/** All numbers are there with owner and state, and no others. */
export const checkNumbers = async (tools: CheckDeps, tell: Tell) => {
  const { run, checked, facts, chapters } = tools
  const states = new Map<string, number>()

  const judge = async (drafts: readonly Draft[]) => {
    const found = await checked.numbers(drafts.map(({ id }) => id))
    for (const { id, accountId, facts: said } of drafts) {
      const place = `number ${id}`
      const number = found.get(id)
      states.set(String(said.state), (states.get(String(said.state)) ?? 0) + 1)
      if (!number) {
        tell({ place, reason: `owner: expected ${accountId || nobody}, found no such number` })
        continue
      }
      compare(
        place,
        [
          ['owner', accountId || nobody, number.accountId || nobody],
          ['state', said.state, number.state],
          ['carrier', said.carrier, number.carrier],
          ['used_by', said.usedBy || 'nothing', number.usedBy || 'nothing'],
        ],
        tell,
      )
    }
  }

  const taken = async (database: string, converted: readonly Converted[]) => {
    const known = await run.known(
      database,
      converted.map(({ document }) => document.id),
    )
    return converted.flatMap(({ document, drafts }) => {
      const row = known.get(document.id)
      return row && isRefused(row) ? [] : drafts.filter(({ as }) => as === 'number')
    })
  }

  const chapter = chapters.find(({ name }) => name === 'numbers')
  if (!chapter) return
  const isWhole = await eachDatabase(tools, chapter, async (database) => {
    for await (const converted of convertedOf(chapter, facts, database))
      for (const some of inParts(converted)) await judge(await taken(database, some))
  })
  // A vanished database makes counts useless.
  if (isWhole)
    compareCounts(states, await checked.numberStates(), (state, wanted, there) =>
      tell({ place: 'all numbers', reason: difference(`in state ${state}`, wanted, there) }),
    )
}
