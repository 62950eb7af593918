// Runs in a child process: writes the dump of a Kazoo, reads it, brings its call records into a store, and inserts the
// same rows in the barest way.
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { Client } from 'pg'
import { createCallImport, type MonthPage } from '../import-kazoo/conversions/call-import.ts'
import { convertCall } from '../import-kazoo/conversions/call-records.rules.ts'
import { emptyBook } from '../import-kazoo/conversions/ledgers.rules.ts'
import { databaseKindOf } from '../import-kazoo/documents/database-names.ts'
import { readDocument } from '../import-kazoo/documents/fields.ts'
import { openDump } from '../import-kazoo/source/dumps/dump.ts'
import type { Source } from '../import-kazoo/source/source.ts'
import { storedColumns } from '../src/areas/calls/cdrs/columns.ts'
import { interactionOf, rowOf } from '../src/areas/calls/cdrs/intake/rules.ts'
import { bareAreas } from '../src/commands/bare-areas.ts'
import { systemClock } from '../src/lib/clock.ts'
import { gregorianUnixOffset } from '../src/lib/gregorian.ts'
import { createSettings } from '../src/settings/settings.ts'
import { ChangeSet } from '../src/storage/change-set.ts'
import { openPostgres } from '../src/storage/postgres.ts'
import { openSqlite } from '../src/storage/sqlite.ts'
import { openDurable } from '../src/storage/sqlite-open.ts'
import { createStore } from '../src/storage/store.ts'
import { upgradeStorage } from '../src/storage/upgrades.ts'
import { cdrDocument } from './cdr-records.ts'
import { serveParent } from './parent.ts'
import type { Place } from './server.ts'

/** The number of accounts and of months of each; records are spread evenly. */
export interface Dump {
  folder: string
  records: number
  accounts: number
  months: number
}

export type KazooJob =
  /** Answers with the bytes of the files. */
  | ({ kind: 'write' } & Dump)
  /** Reads the dump as the program does and throws the documents away; answers with seconds. */
  | ({ kind: 'read' } & Dump)
  /** Answers with seconds. */
  | ({ kind: 'import'; place: Place; accountsAtOnce: number } & Dump)
  /** Only the insertions themselves are timed; answers with seconds. */
  | ({ kind: 'floor'; place: Place } & Dump)

const monthSeconds = 28 * 86_400
// 2023-01: the months are over.
const firstYear = 2023

const monthOf = (at: number) => (firstYear + Math.floor(at / 12)) * 100 + (at % 12) + 1

const startOf = (month: number) =>
  Date.UTC(Math.floor(month / 100), (month % 100) - 1) / 1000 + gregorianUnixOffset

const accountIdOf = (at: number) => at.toString(16).padStart(8, '0').padEnd(32, 'ab')

const databaseOf = (accountId: string, month?: number) =>
  `account/${accountId.slice(0, 2)}/${accountId.slice(2, 4)}/${accountId.slice(4)}${month === undefined ? '' : `-${month}`}`

/** A document of version 4.3 or 5, as a database of the month holds it. */
const documentOf = (index: number, accountId: string, month: number, created: number) => {
  const { interaction_id = '', ...cdr } = cdrDocument(index, accountId, created)
  const [time, key] = interaction_id.split('-')
  return {
    _id: `${month}-${cdr.call_id}`,
    _rev: '1-7d2f0a4c1b9e4f5d8a6b3c2d1e0f9a8b',
    ...cdr,
    interaction_id,
    interaction_time: Number(time),
    interaction_key: key,
    pvt_type: 'cdr',
    pvt_vsn: index % 2 === 0 ? '3' : '2',
    pvt_account_id: accountId,
    pvt_account_db: `account%2F${accountId.slice(0, 2)}%2F${accountId.slice(2, 4)}%2F${accountId.slice(4)}`,
    pvt_created: created + 1,
    pvt_modified: created + 1,
    pvt_node: 'kazoo_apps@apps001.bench.example.com',
    pvt_document_hash: 'd41d8cd98f00b204e9800998ecf8427e',
  }
}

const each = function* ({ accounts, months }: Dump) {
  for (let month = 0; month < months; month += 1)
    for (let account = 0; account < accounts; account += 1)
      yield { account, month: monthOf(month), at: month }
}

const documentsOf = (dump: Dump, { account, month, at }: { account: number; month: number; at: number }) => {
  const count = Math.floor(dump.records / (dump.accounts * dump.months))
  const accountId = accountIdOf(account)
  const first = (at * dump.accounts + account) * count
  const documents = Array.from({ length: count }, (_, index) => {
    // Both legs of a call end at one moment.
    const created = startOf(month) + 7200 + Math.floor(((index >> 1) * 2 * monthSeconds) / count / 1.1)
    return documentOf(first + index, accountId, month, created)
  })
  // As a database gives them: call ids are random, and so is the order in time.
  return documents.sort((a, b) => (a._id < b._id ? -1 : 1))
}

/** The documents of every account but its months, so that the program takes them over. */
const accountDocument = (index: number) => {
  const id = accountIdOf(index)
  return {
    _id: id,
    _rev: '1-7d2f0a4c1b9e4f5d8a6b3c2d1e0f9a8b',
    name: `Account ${index}`,
    realm: `a${index}.bench.example.com`,
    pvt_type: 'account',
    pvt_account_id: id,
    pvt_account_db: databaseOf(id),
    pvt_tree: index === 0 ? [] : [accountIdOf(0)],
    pvt_created: startOf(monthOf(0)),
    pvt_modified: startOf(monthOf(0)),
    ...(index === 0 ? { pvt_superduper_admin: true } : {}),
  }
}

const fileOf = ({ folder }: Dump, database: string) => join(folder, `${encodeURIComponent(database)}.json`)

const write = async (dump: Dump) => {
  await rm(dump.folder, { recursive: true, force: true })
  await mkdir(dump.folder, { recursive: true })
  const accounts = Array.from({ length: dump.accounts }, (_, index) => accountDocument(index))
  const writeDocuments = async (database: string, documents: readonly object[]) => {
    const text = documents.map((document) => `${JSON.stringify(document)}\n`).join('')
    await writeFile(fileOf(dump, database), text)
    return Buffer.byteLength(text)
  }
  await writeDocuments('system_config', [
    { _id: 'accounts', _rev: '1-1', default: { master_account_id: accountIdOf(0) }, pvt_type: 'config' },
  ])
  await writeDocuments('accounts', accounts)
  for (const account of accounts) await writeDocuments(databaseOf(account._id), [account])
  let bytes = 0
  for (const one of each(dump))
    bytes += await writeDocuments(databaseOf(accountIdOf(one.account), one.month), documentsOf(dump, one))
  return bytes
}

/** The months of each account, in order. */
const monthsIn = async (source: Source) => {
  const months = (await source.databases()).flatMap((database) => {
    const kind = databaseKindOf(database)
    return kind.kind === 'month' ? [{ database, accountId: kind.accountId, month: Number(kind.month) }] : []
  })
  return [...Map.groupBy(months, ({ accountId }) => accountId).values()]
}

async function* pagesOf(source: Source, database: string): AsyncGenerator<MonthPage> {
  for await (const { documents, mark } of source.pages(database))
    yield { documents: documents.map((document) => readDocument(database, document)), mark }
}

const secondsOf = async (work: () => Promise<unknown>) => {
  const from = performance.now()
  await work()
  return (performance.now() - from) / 1000
}

const read = (dump: Dump) =>
  secondsOf(async () => {
    const source = await openDump(dump.folder)
    let found = 0
    for (const { database } of (await monthsIn(source)).flat())
      for await (const { documents } of pagesOf(source, database)) found += documents.length
    await source.close()
    if (found === 0) throw new Error('nothing was read')
  })

const openDb = ({ dataDir, databaseUrl }: Place) =>
  databaseUrl ? openPostgres(databaseUrl) : openSqlite(join(dataDir, 'crosspoint.db'))

const importAll = async ({ place, accountsAtOnce, ...dump }: Extract<KazooJob, { kind: 'import' }>) => {
  await mkdir(place.dataDir, { recursive: true })
  const db = openDb(place)
  await upgradeStorage(db, systemClock)
  const store = createStore(db, systemClock)
  const settings = createSettings(store.records, 'command')
  const { legAdoption } = bareAreas({ store, settings }).offers.cdrs
  const callImport = {
    legAdoption,
    author: { requestId: 'import' },
    commit: (set: ChangeSet) => store.adopt(set),
  }
  let imported = 0
  const importAccount = async (source: Source, months: Awaited<ReturnType<typeof monthsIn>>[number]) => {
    const [first] = months
    const calls = createCallImport(callImport, first?.accountId ?? '')
    for (const { database } of months)
      await calls.month({
        database,
        pages: () => pagesOf(source, database),
        convertOthers: () => ({ converted: [], book: emptyBook }),
        add: async () => {},
        stored({ counts }) {
          imported += counts.imported
        },
      })
    await calls.settle()
  }
  const seconds = await secondsOf(async () => {
    const source = await openDump(dump.folder)
    const waiting = (await monthsIn(source)).values()
    const work = async () => {
      for (const months of waiting) await importAccount(source, months)
    }
    await Promise.all(Array.from({ length: accountsAtOnce }, work))
    await source.close()
  })
  await db.close()
  if (imported === 0) throw new Error('nothing was imported')
  return seconds
}

const rowsPerTransaction = 2000

/** The rows of the dump, some thousand at a time: made before the time is taken. */
async function* rowsOf(dump: Dump) {
  const inFuture = 99_999_999_999
  const source = await openDump(dump.folder)
  for (const { database, accountId, month } of (await monthsIn(source)).flat()) {
    for await (const { documents } of pagesOf(source, database)) {
      const rows = documents.flatMap((document) => {
        const converted = convertCall(document, { accountId })
        if (converted.outcome !== 'leg') return []
        return [rowOf(converted.leg, interactionOf(converted.leg.record), inFuture)]
      })
      yield { month, rows }
    }
  }
  await source.close()
}

type Rows = { month: number; rows: ReturnType<typeof rowOf>[] }[]

const sqliteFloor = async (place: Place) => {
  const connection = openDurable(join(place.dataDir, 'crosspoint.db'))
  const marks = storedColumns.map((_, index) => `?${index + 1}`).join(', ')
  const statements = new Map<number, ReturnType<typeof connection.prepare>>()
  const insertInto = (month: number) => {
    const known =
      statements.get(month) ??
      connection.prepare(`INSERT INTO cdrs_${month} (${storedColumns.join(', ')}) VALUES (${marks})`)
    statements.set(month, known)
    return known
  }
  const insert = async (all: Rows) => {
    const values = all.map(({ month, rows }) => ({
      month,
      rows: rows.map((row) => storedColumns.map((name) => row[name])),
    }))
    return secondsOf(async () => {
      connection.exec('BEGIN IMMEDIATE')
      for (const { month, rows } of values) for (const row of rows) insertInto(month).run(...row)
      connection.exec('COMMIT')
    })
  }
  return { insert, close: async () => connection.close() }
}

const postgresFloor = async ({ databaseUrl }: Place) => {
  const client = new Client({ connectionString: databaseUrl as string })
  await client.connect()
  const text = 'INSERT INTO cdrs SELECT * FROM json_populate_recordset(NULL::cdrs, $1::json)'
  const insert = async (all: Rows) => {
    const values = JSON.stringify(all.flatMap(({ month, rows }) => rows.map((row) => ({ ...row, month }))))
    return secondsOf(() => client.query({ name: 'floor', text, values: [values] }))
  }
  return { insert, close: () => client.end() }
}

const makeMonths = async (place: Place, { months }: Dump) => {
  await mkdir(place.dataDir, { recursive: true })
  const db = openDb(place)
  await upgradeStorage(db, systemClock)
  const store = createStore(db, systemClock)
  for (let at = 0; at < months; at += 1) {
    const set = new ChangeSet({ requestId: 'bench' })
    await store.cdrs.make(set, monthOf(at))
    await store.writeUnrecorded(set.statements, set.stale)
  }
  await db.close()
}

const floor = async ({ place, ...dump }: Extract<KazooJob, { kind: 'floor' }>) => {
  await makeMonths(place, dump)
  const { insert, close } = place.databaseUrl ? await postgresFloor(place) : await sqliteFloor(place)
  let seconds = 0
  let waiting: Rows = []
  let count = 0
  const flush = async () => {
    seconds += await insert(waiting)
    waiting = []
    count = 0
  }
  for await (const some of rowsOf(dump)) {
    waiting.push(some)
    count += some.rows.length
    if (count >= rowsPerTransaction) await flush()
  }
  await flush()
  await close()
  return seconds
}

serveParent<KazooJob, number>(async (job) => {
  switch (job.kind) {
    case 'write':
      return write(job)
    case 'read':
      return read(job)
    case 'import':
      return importAll(job)
    case 'floor':
      return floor(job)
  }
})
