// Fills the new store and compares it with the old one.
import { mkdirSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { createKeyring } from '../../auth/keyring.ts'
import { openDatabase } from '../../compose.ts'
import type { Config } from '../../config/config.ts'
import type { Fault } from '../../lib/check.ts'
import { systemClock } from '../../lib/clock.ts'
import { dataFiles } from '../../saved/data-files.ts'
import { ChangeSet } from '../../storage/change-set.ts'
import type { Database } from '../../storage/db.ts'
import { completeStore, incompleteUpgrade, type Move } from '../../storage/moving/marks.ts'
import { copyRows, digestOf, type MovedTable, monthOf, type StoreSide } from '../../storage/moving/tables.ts'
import { createStore, type Store } from '../../storage/store.ts'
import { upgradeStorage, upgrades } from '../../storage/upgrades.ts'
import { createProgress, formatCount } from '../output.ts'
import { checkStore } from '../verify.ts'
import { openSide, requireKey } from './places.ts'

export type MoveFault = Fault & { check: string }

interface Places {
  config: Config
  target: Config
  move: Move
  db: Database
}

const makeMonths = async (store: Store, tables: readonly MovedTable[]) => {
  for (const { name } of tables) {
    const month = monthOf(name)
    if (month === undefined) continue
    const set = new ChangeSet({ requestId: 'move' })
    store.cdrs.make(set, Number(month))
    await store.writeUnrecorded(set.statements)
  }
}

const copyFiles = async (from: string, to: string) => {
  if (resolve(from) === resolve(to)) return
  for await (const { name, content } of dataFiles(from)) {
    const file = join(to, name)
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
    await writeFile(file, content, { mode: 0o600, flush: true })
  }
}

const tableNamed = (tables: readonly MovedTable[], name: string) => {
  const table = tables.find((found) => found.name === name)
  if (!table) throw new Error(`there is no table ${name}`)
  return table
}

/** This table lists the months: it is copied before `makeMonths` adds to it. */
const register = 'monthly_tables'

const copyAll = async (from: StoreSide, to: StoreSide, store: Store) => {
  const tables = await from.tables()
  let [total, done] = [0, 0]
  for (const { name } of tables) total += await from.count(name)
  const progress = createProgress(2 * total)
  const copy = (table: MovedTable) =>
    copyRows(from, to, table, (count) => {
      done += count
      progress.show(done, `${formatCount(done)} of ${formatCount(total)} rows copied, ${table.name}`)
    })
  const prepared = await to.tables()
  await copy(tableNamed(prepared, register))
  await makeMonths(store, tables)
  const moved = await to.tables()
  for (const table of moved) {
    done += table.name === register ? 0 : await to.count(table.name)
    await copy(table)
  }
  const faults: MoveFault[] = []
  for (const table of moved) {
    const [before, after] = await Promise.all([from, to].map((side) => digestOf(side, table)))
    done += before?.rows ?? 0
    progress.show(done, `${table.name} compared`)
    if (before?.rows !== after?.rows || before?.sha256 !== after?.sha256)
      faults.push({
        check: 'copy',
        place: `table ${table.name}`,
        reason: `differs: ${before?.rows} rows in the old store, ${after?.rows} in the new store`,
      })
  }
  progress.end()
  return { tables: moved.length, rows: total, faults }
}

/** Creates the tables of the new store. If it takes no writes, this fails while the old store still does. */
export const openNewStore = async (
  target: Config,
  move: Move,
  tables: readonly string[],
): Promise<Database> => {
  const db = await openDatabase(target)
  try {
    const withoutMonths = tables.filter((name) => monthOf(name) === undefined)
    await upgradeStorage(db, systemClock, [...upgrades, incompleteUpgrade(move, withoutMonths)])
    return db
  } catch (error) {
    await db.close()
    throw error
  }
}

export const fill = async ({ config, target, move, db }: Places) => {
  const store = createStore(db, systemClock)
  const [from, to] = [await openSide(config), await openSide(target)]
  try {
    const copied = await copyAll(from, to, store)
    await copyFiles(config.dataDir, target.dataDir)
    if (copied.faults.length > 0) return copied
    store.sealing.use(createKeyring(requireKey(target.dataDir)))
    const { faults } = await checkStore(store, target)
    await to.settle()
    if (faults.length === 0) await completeStore(db, move)
    return { ...copied, faults }
  } finally {
    await Promise.all([from.close(), to.close()])
  }
}
