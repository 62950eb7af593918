import type { Clock } from '../lib/clock.ts'
import type { Database, Engine, Row, Value } from './db.ts'
import { Refusal } from './saved-store.ts'
import { records } from './upgrades/0001-records.ts'
import { accountSearch } from './upgrades/0002-account-search.ts'
import { cdrs } from './upgrades/0003-cdrs.ts'
import { jobs } from './upgrades/0004-jobs.ts'
import { numbers } from './upgrades/0005-numbers.ts'
import { localities } from './upgrades/0006-localities.ts'
import { tasks } from './upgrades/0007-tasks.ts'
import { mail } from './upgrades/0008-mail.ts'
import { quantities } from './upgrades/0009-quantities.ts'
import { migrations } from './upgrades/0010-migrations.ts'
import { ledgers } from './upgrades/0011-ledgers.ts'
import { idempotency } from './upgrades/0012-idempotency.ts'
import { services } from './upgrades/0013-services.ts'
import { transactions } from './upgrades/0014-transactions.ts'
import { alerts } from './upgrades/0015-alerts.ts'
import { work } from './upgrades/0016-work.ts'
import { orderOfMoney } from './upgrades/0017-order-of-money.ts'
import { workMoved } from './upgrades/0018-work-moved.ts'
import { agreements } from './upgrades/0019-agreements.ts'
import { invoices } from './upgrades/0020-invoices.ts'
import { longRuns } from './upgrades/0021-long-runs.ts'
import { credentials } from './upgrades/0022-credentials.ts'
import { sealing } from './upgrades/0023-sealing.ts'
import { auditDifferences } from './upgrades/0024-audit-differences.ts'
import { retention } from './upgrades/0025-retention.ts'
import { edgeMembers } from './upgrades/0026-edge-members.ts'
import { feed } from './upgrades/0027-feed.ts'
import { webhooks } from './upgrades/0028-webhooks.ts'
import { auditReading } from './upgrades/0029-audit-reading.ts'
import { websockets } from './upgrades/0030-websockets.ts'
import { signInBuckets } from './upgrades/0031-sign-in-buckets.ts'
import { tracesOfWork } from './upgrades/0032-traces-of-work.ts'
import { callArchive } from './upgrades/0033-call-archive.ts'
import { signedInDevices } from './upgrades/0034-signed-in-devices.ts'
import { kazoo } from './upgrades/0035-kazoo.ts'
import { kazooKept } from './upgrades/0036-kazoo-kept.ts'
import { chargesOfRequests } from './upgrades/0037-charges-of-requests.ts'
import { hostNames } from './upgrades/0038-host-names.ts'
import { accountNames } from './upgrades/0039-account-names.ts'
import { chargeQuotes } from './upgrades/0040-charge-quotes.ts'
import { chargedPrices } from './upgrades/0041-charged-prices.ts'
import { recordPatches } from './upgrades/0042-record-patches.ts'
import { manualDays } from './upgrades/0043-manual-days.ts'
import { runningCalls } from './upgrades/0044-running-calls.ts'

export interface Dialect {
  /** A text column that is compared and ordered by its bytes, alike in both engines. */
  key: string
  /** For tables of small rows: kept in the order of the primary key alone, where the engine can. */
  compact: string
  /** A column of bytes. */
  bytes: string
  /** The text of a JSON object: SQL expressions by key. */
  json(parts: Readonly<Record<string, string>>): string
  /** The text under a key of a JSON object that stands as text; NULL when it is not there. */
  textIn(json: string, key: string): string
  /** Lets rows of a table, and those that wait for their sequence, be read in the order in which they were added. */
  position(table: string): string[]
  /** For tables whose rows lie in one table for each month: see monthly.ts. */
  monthly: { column: string; inKey: string; partitioned: string }
}

/** Runs one statement of an upgrade. */
export type Run = (sql: string, params?: readonly Value[]) => Promise<Row[]>

/** One numbered step of the store's structure. A landed upgrade is never edited: write the next one. */
export interface Upgrade {
  number: number
  title: string
  statements(dialect: Dialect): string[]
  /** What SQL cannot say: done after the statements, in the same transaction. */
  rewrite?(run: Run): Promise<void>
}

export const upgrades: readonly Upgrade[] = [
  records,
  accountSearch,
  cdrs,
  jobs,
  numbers,
  localities,
  tasks,
  mail,
  quantities,
  migrations,
  ledgers,
  idempotency,
  services,
  transactions,
  alerts,
  work,
  orderOfMoney,
  workMoved,
  agreements,
  invoices,
  longRuns,
  credentials,
  sealing,
  auditDifferences,
  retention,
  edgeMembers,
  feed,
  webhooks,
  auditReading,
  websockets,
  signInBuckets,
  tracesOfWork,
  callArchive,
  signedInDevices,
  kazoo,
  kazooKept,
  chargesOfRequests,
  hostNames,
  accountNames,
  chargeQuotes,
  chargedPrices,
  recordPatches,
  manualDays,
  runningCalls,
]

/** The number of the last upgrade of a store that `crosspoint move` has not filled yet. */
export const movingUpgrade = 1_000_000

const pairsOf = (parts: Readonly<Record<string, string>>) =>
  Object.entries(parts)
    .map(([key, value]) => `'${key}', ${value}`)
    .join(', ')

const dialects: Record<Engine, Dialect> = {
  sqlite: {
    key: 'TEXT',
    compact: 'WITHOUT ROWID',
    bytes: 'BLOB',
    json: (parts) => `json_object(${pairsOf(parts)})`,
    textIn: (json, key) => `(${json} ->> '${key}')`,
    // Each row has a number of that order already.
    position: (table) => [`CREATE INDEX ${table}_waiting ON ${table} (sequence) WHERE sequence IS NULL`],
    monthly: { column: '', inKey: '', partitioned: '' },
  },
  postgres: {
    key: 'TEXT COLLATE "C"',
    compact: '',
    bytes: 'BYTEA',
    json: (parts) => `json_build_object(${pairsOf(parts)})::text`,
    textIn: (json, key) => `(${json}::json ->> '${key}')`,
    position: (table) => [
      `ALTER TABLE ${table} ADD COLUMN position BIGSERIAL NOT NULL`,
      `CREATE INDEX ${table}_waiting ON ${table} (position) WHERE sequence IS NULL`,
    ],
    monthly: {
      column: 'month INTEGER NOT NULL,',
      inKey: ', month',
      partitioned: 'PARTITION BY LIST (month)',
    },
  },
}

/**
 * Brings the store to this version's structure; several processes may call it at once.
 * Refuses a store that a newer version has upgraded.
 */
export const upgradeStorage = (db: Database, clock: Clock, list = upgrades) =>
  db.exclusively(async (run) => {
    await run(`CREATE TABLE IF NOT EXISTS storage_upgrades (
      number INTEGER NOT NULL PRIMARY KEY, title TEXT NOT NULL, applied_at BIGINT NOT NULL)`)
    const [row] = await run('SELECT max(number) AS number FROM storage_upgrades')
    const reached = Number(row?.number ?? 0)
    const known = list.at(-1)?.number ?? 0
    if (reached === movingUpgrade && known < reached)
      throw new Refusal(
        'this store is incomplete: run the same `crosspoint move` again, with the environment of the old store',
      )
    if (reached > known) {
      throw new Error(
        `the store is at upgrade ${reached}, this version knows ${known}: run a newer Crosspoint`,
      )
    }
    for (const upgrade of list.filter(({ number }) => number > reached)) {
      for (const statement of upgrade.statements(dialects[db.engine])) await run(statement)
      await upgrade.rewrite?.(run)
      await run('INSERT INTO storage_upgrades (number, title, applied_at) VALUES ($1, $2, $3)', [
        upgrade.number,
        upgrade.title,
        clock.now(),
      ])
    }
  })
