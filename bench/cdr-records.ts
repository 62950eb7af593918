// Call detail records: single ones as a switch sends them, and millions of them straight into a store.
import { hash } from 'node:crypto'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Client } from 'pg'
import { storedColumns } from '../src/areas/calls/cdrs/columns.ts'
import { interactionOf, rowOf } from '../src/areas/calls/cdrs/intake/rules.ts'
import type { Cdr } from '../src/areas/calls/cdrs/schema.ts'
import { systemClock } from '../src/lib/clock.ts'
import { gregorianUnixOffset } from '../src/lib/gregorian.ts'
import { ChangeSet, conflict } from '../src/storage/change-set.ts'
import { openPostgres } from '../src/storage/postgres.ts'
import { openSqlite } from '../src/storage/sqlite.ts'
import { createStore } from '../src/storage/store.ts'
import type { Place } from './server.ts'

const monthStartOf = (month: number) =>
  Date.UTC(Math.floor(month / 100), (month % 100) - 1) / 1000 + gregorianUnixOffset

const callers = [
  'Magdalena Hofer',
  'Doe, Jane',
  'WIRELESS CALLER',
  'Anna "Ann" Berg',
  'Bench Example GmbH',
  '1001',
]
const causes = [
  'NORMAL_CLEARING',
  'NORMAL_CLEARING',
  'NORMAL_CLEARING',
  'NO_ANSWER',
  'USER_BUSY',
  'ORIGINATOR_CANCEL',
]

/** The text of a version 4 UUID, the same for the same number. */
const uuidOf = (index: number) => {
  const hex = hash('sha256', `call ${index}`, 'hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}

const usersOfAccount = 50
const devicesOfAccount = 80

/** A leg of some 1.7 KB of JSON; `created` are Gregorian seconds. */
export const cdrDocument = (index: number, accountId: string, created: number): Cdr => {
  const isInbound = index % 2 === 0
  const user = hash('md5', `user ${index % usersOfAccount}`, 'hex')
  const device = hash('md5', `device ${index % devicesOfAccount}`, 'hex')
  const duration = (index * 7919) % 600
  const billed = index % 6 < 3 ? Math.max(0, duration - (index % 20)) : 0
  const number = `+1415555${String(index % 10_000).padStart(4, '0')}`
  const start = created - duration
  const callId = uuidOf(index)
  const custom_channel_vars = {
    account_id: accountId,
    owner_id: user,
    authorizing_id: device,
    authorizing_type: 'device',
    bridge_id: callId,
    ecallmgr_node: 'ecallmgr@apps001.bench.example.com',
    fetch_id: uuidOf(index + 1_000_000_000),
    realm: 'a1.bench.example.com',
    reseller_id: accountId,
    account_billing: 'per_minute',
    reseller_billing: 'per_minute',
    rate: 120,
    rate_name: 'us_did',
    rate_increment: 6,
    rate_minimum: 60,
    surcharge: 0,
    global_resource: true,
    resource_id: hash('md5', 'resource', 'hex'),
  }
  return {
    call_id: callId,
    call_direction: isInbound ? 'inbound' : 'outbound',
    timestamp: created,
    duration_seconds: duration,
    billing_seconds: billed,
    ringing_seconds: index % 20,
    channel_created_time: (start - gregorianUnixOffset) * 1_000_000 + (index % 1_000_000),
    interaction_id: `${start - (start % 2)}-${hash('md5', `interaction ${Math.floor(index / 2)}`, 'hex').slice(0, 8)}`,
    app_name: 'ecallmgr',
    app_version: '5.1.0',
    caller_id_name: callers[index % callers.length] as string,
    caller_id_number: number,
    callee_id_name: 'Magdalena Hofer',
    callee_id_number: '2041',
    channel_call_state: 'HANGUP',
    channel_name: `sofia/sipinterface_1/user_${index % usersOfAccount}@a1.bench.example.com`,
    channel_state: 'REPORTING',
    custom_application_vars: {},
    custom_channel_vars,
    custom_sip_headers: { in: { 'X-KAZOO-AOR': `sip:user_${index % usersOfAccount}@a1.bench.example.com` } },
    disposition: 'ANSWER',
    event_category: 'cdr',
    event_name: 'cdr_report',
    from: `user_${index % usersOfAccount}@a1.bench.example.com`,
    from_tag: uuidOf(index + 2_000_000_000).slice(0, 13),
    from_uri: `${number}@a1.bench.example.com`,
    hangup_cause: causes[index % causes.length] as string,
    hangup_code: 'sip:200',
    media_server: 'fs1.bench.example.com',
    node: 'ecallmgr@apps001.bench.example.com',
    other_leg_call_id: uuidOf(index ^ 1),
    other_leg_direction: isInbound ? 'outbound' : 'inbound',
    request: `2041@a1.bench.example.com`,
    switch_hostname: 'fs1.bench.example.com',
    switch_nodename: 'freeswitch@fs1.bench.example.com',
    switch_uri: 'sip:203.0.113.7:11000',
    switch_url: 'sip:mod_sofia@203.0.113.7:11000',
    to: `2041@a1.bench.example.com`,
    to_tag: uuidOf(index + 3_000_000_000).slice(0, 13),
    to_uri: '2041@a1.bench.example.com',
    user_agent: 'Yealink SIP-T46U 108.86.0.70',
  }
}

const templates = 240

interface Fill {
  accountId: string
  month: number
  /** How many legs; they are spread over the month evenly, two to an interaction. */
  count: number
}

/** Some real legs of the month, put in as intake does: the others are made of them. */
const plantTemplates = async ({ dataDir, databaseUrl }: Place, { accountId, month }: Fill) => {
  const db = databaseUrl ? openPostgres(databaseUrl) : openSqlite(join(dataDir, 'crosspoint.db'))
  const store = createStore(db, systemClock)
  const created = monthStartOf(month) + 7200
  const rows = Array.from({ length: templates }, (_, index) => {
    const record = cdrDocument(index, accountId, created)
    return rowOf({ accountId, record }, interactionOf(record), created + 86_400 * 40)
  })
  const set = new ChangeSet({ requestId: 'bench' })
  await store.cdrs.insert(set, month, rows, { isArchived: false, orElse: conflict })
  set.record({ accountId, kind: 'cdrs', id: 'bench', action: 'created' })
  await store.commit(set)
  await db.close()
}

interface Words {
  /** A number as hexadecimal text. */
  hex(number: string, digits: number): string
  /** FROM text with the numbers 1 to count as `numbers.i`. */
  numbers(count: number): string
}

const sqliteWords: Words = {
  hex: (number, digits) => `printf('%0${digits}x', ${number})`,
  numbers: (count) =>
    `(WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${count}) SELECT i FROM n) AS numbers`,
}

const postgresWords: Words = {
  hex: (number, digits) => `lpad(to_hex((${number})::bigint), ${digits}, '0')`,
  numbers: (count) => `generate_series(1::bigint, ${count}) AS numbers(i)`,
}

// Two hours before a month's end no leg begins, so that none belongs to the next month.
const monthSeconds = 28 * 86_400 - 7200

const mixed = (number: string, bits: number) => `((${number}) * 40503 + 12345) % ${2 ** bits}`

/** The columns of a generated leg: mostly those of its template, with its own times and IDs. */
const madeColumns = (words: Words, { month, count }: Fill): Record<string, string> => {
  const start = monthStartOf(month) + 3600
  const began = (number: string) => `(${start} + (${number}) * ${monthSeconds} / ${count})`
  const uuid = [
    words.hex('i', 8),
    words.hex(mixed('i', 16), 4),
    `'4' || ${words.hex(mixed('i + 1', 12), 3)}`,
    `'a' || ${words.hex(mixed('i + 2', 12), 3)}`,
    words.hex(mixed('i * 77', 40), 12),
  ].join(` || '-' || `)
  return {
    id: `'${month}-' || ${uuid}`,
    created: `${began('i')} + t.duration_seconds`,
    channel_created_time: `(${began('i')} - ${gregorianUnixOffset}) * 1000000 + i % 1000000`,
    interaction_time: began('i / 2 * 2'),
    interaction_key: words.hex(mixed('i / 2 * 31', 32), 8),
  }
}

const made = (words: Words, fill: Fill, table: string, more: readonly string[] = []) => {
  const own = madeColumns(words, fill)
  const names = [...storedColumns, ...more]
  const selected = names.map((name) => own[name] ?? `t.${name}`).join(', ')
  return `INSERT INTO ${table} (${names.join(', ')}) SELECT ${selected}
    FROM ${words.numbers(fill.count)} JOIN templates t ON t.n = i % ${templates}`
}

const fillSqlite = (file: string, fill: Fill) => {
  const db = new DatabaseSync(file, { timeout: 60_000 })
  const table = `cdrs_${fill.month}`
  db.exec(
    'PRAGMA synchronous = OFF; PRAGMA cache_size = -1000000; PRAGMA temp_store = MEMORY; PRAGMA threads = 2',
  )
  db.exec(`CREATE TEMP TABLE templates AS SELECT *, row_number() OVER (ORDER BY id) - 1 AS n FROM ${table}`)
  db.exec('CREATE UNIQUE INDEX temp.templates_n ON templates (n)')
  const indices = db
    .prepare("SELECT name, sql FROM sqlite_master WHERE type = 'index' AND tbl_name = ? AND sql IS NOT NULL")
    .all(table) as { name: string; sql: string }[]
  for (const { name } of indices) db.exec(`DROP INDEX ${name}`)
  db.exec(made(sqliteWords, fill, table))
  for (const { sql } of indices) db.exec(sql)
  db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  db.close()
}

const fillPostgres = async (url: string, fill: Fill) => {
  const client = new Client({ connectionString: url })
  await client.connect()
  const table = `cdrs_${fill.month}`
  await client.query("SET maintenance_work_mem = '1GB'; SET synchronous_commit = off")
  await client.query(
    `CREATE TEMP TABLE templates AS SELECT *, row_number() OVER (ORDER BY id) - 1 AS n FROM ${table}`,
  )
  await client.query(`ALTER TABLE cdrs DETACH PARTITION ${table}`)
  const { rows } = await client.query('SELECT indexname FROM pg_indexes WHERE tablename = $1', [table])
  const primary = `${table}_pkey`
  await client.query(`ALTER TABLE ${table} DROP CONSTRAINT ${primary}`)
  for (const { indexname } of rows) if (indexname !== primary) await client.query(`DROP INDEX ${indexname}`)
  await client.query(made(postgresWords, fill, table, ['month']))
  await client.query(`ALTER TABLE cdrs ATTACH PARTITION ${table} FOR VALUES IN (${fill.month})`)
  await client.query(`VACUUM ANALYZE ${table}`)
  await client.query('CHECKPOINT')
  await client.end()
}

/**
 * Puts legs of one account and month into a store of the newest structure, past the server and without statistics
 * (`cdr_tallies`). Their ids begin with their number, as version 7 UUIDs begin with their time.
 */
export const fillCdrs = async (place: Place, fill: Fill) => {
  await plantTemplates(place, fill)
  if (place.databaseUrl) await fillPostgres(place.databaseUrl, fill)
  else fillSqlite(join(place.dataDir, 'crosspoint.db'), fill)
}
