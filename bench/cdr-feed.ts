// Runs in a child process: sends call detail records to a server, and stores the same ones in the barest way.
import { createReadStream, createWriteStream } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { pipeline } from 'node:stream/promises'
import { Client } from 'pg'
import { storedColumns } from '../src/areas/calls/cdrs/columns.ts'
import { interactionOf, rowOf } from '../src/areas/calls/cdrs/intake/rules.ts'
import { systemClock } from '../src/lib/clock.ts'
import { gregorianNow } from '../src/lib/gregorian.ts'
import { openDurable } from '../src/storage/sqlite-open.ts'
import { cdrDocument } from './cdr-records.ts'
import { serveParent } from './parent.ts'
import type { Place } from './server.ts'

/** Records by their numbers: `count` of them from `first` on. */
export interface Batch {
  accountId: string
  first: number
  count: number
}

export type FeedJob =
  /** Writes the records to a file, one a line; answers with its bytes. */
  | ({ kind: 'write'; file: string } & Batch)
  /** Sends the files, a request for each, all at once; answers with the records of all of them stored a second. */
  | { kind: 'send'; files: readonly string[]; port: number; token: string; count: number }
  /** Adds the records to the table of their month, or to the same one without any index, one durable transaction for each 500. */
  | ({ kind: 'floor'; place: Place; month: number; isIndexed: boolean } & Batch)

export interface Feeding {
  /** What was written, in bytes, or the records stored a second. */
  done: number
  /** Microseconds of processor time of the process for each record. */
  processor: number
}

// A busy account: ten legs end in a second.
const legsPerSecond = 10
const ago = 2 * 86_400
const begun = gregorianNow(systemClock) - ago

const rowsPerTransaction = 500

const documentAt = (accountId: string, index: number) =>
  cdrDocument(index, accountId, begun + Math.floor(index / legsPerSecond))

const write = async ({ file, accountId, first, count }: Extract<FeedJob, { kind: 'write' }>) => {
  let bytes = 0
  const lines = function* () {
    for (let index = first; index < first + count; index += 1) {
      const line = `${JSON.stringify(documentAt(accountId, index))}\n`
      bytes += Buffer.byteLength(line)
      yield line
    }
  }
  await pipeline(lines, createWriteStream(file))
  return bytes
}

type Sending = Extract<FeedJob, { kind: 'send' }>

const sendFile = (file: string, { port, token }: Sending) =>
  new Promise<number>((resolve, reject) => {
    const headers = { 'content-type': 'application/x-ndjson', 'x-auth-token': token }
    const outgoing = request({ port, method: 'PUT', path: '/v2/cdrs', headers }, async (incoming) => {
      const text = (await incoming.setEncoding('utf8').toArray()).join('')
      const accepted: unknown = JSON.parse(text).data?.accepted
      if (typeof accepted === 'number') resolve(accepted)
      else reject(new Error(text.slice(0, 500)))
    })
    outgoing.on('error', reject)
    pipeline(createReadStream(file, { highWaterMark: 262_144 }), outgoing).catch(reject)
  })

const send = async (job: Sending) => {
  const from = performance.now()
  const accepted = await Promise.all(job.files.map((file) => sendFile(file, job)))
  const stored = accepted.reduce((sum, records) => sum + records, 0)
  if (stored !== job.count) throw new Error(`${stored} of ${job.count} records were stored`)
  return stored / ((performance.now() - from) / 1000)
}

const rowsFor = ({ accountId, first, count }: Batch) =>
  Array.from({ length: count }, (_, index) => {
    const document = documentAt(accountId, first + index)
    return rowOf({ accountId, record: document }, interactionOf(document), begun + 2 * ago)
  })

const measured = async (count: number, work: () => Promise<void> | void): Promise<Feeding> => {
  const from = performance.now()
  const before = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(before)
  return { done: count / ((performance.now() - from) / 1000), processor: (user + system) / count }
}

type Floor = Extract<FeedJob, { kind: 'floor' }>

const tableOf = ({ month, isIndexed }: Floor) => (isIndexed ? `cdrs_${month}` : `bare_${month}`)

const sqliteFloor = async (job: Floor) => {
  const rows = rowsFor(job).map((row) => storedColumns.map((name) => row[name]))
  const connection = openDurable(join(job.place.dataDir, 'crosspoint.db'))
  // Made of a query it has neither a primary key nor any other index.
  if (!job.isIndexed)
    connection.exec(
      `CREATE TABLE IF NOT EXISTS ${tableOf(job)} AS SELECT * FROM cdrs_${job.month} WHERE false`,
    )
  const marks = storedColumns.map((_, index) => `?${index + 1}`).join(', ')
  const insert = connection.prepare(
    `INSERT INTO ${tableOf(job)} (${storedColumns.join(', ')}) VALUES (${marks})`,
  )
  try {
    return await measured(rows.length, () => {
      for (let at = 0; at < rows.length; at += rowsPerTransaction) {
        connection.exec('BEGIN IMMEDIATE')
        for (const row of rows.slice(at, at + rowsPerTransaction)) insert.run(...row)
        connection.exec('COMMIT')
      }
    })
  } finally {
    connection.close()
  }
}

const postgresFloor = async (job: Floor) => {
  const rows = rowsFor(job).map((row) => ({ ...row, month: job.month }))
  const texts: string[] = []
  for (let at = 0; at < rows.length; at += rowsPerTransaction)
    texts.push(JSON.stringify(rows.slice(at, at + rowsPerTransaction)))
  const client = new Client({ connectionString: job.place.databaseUrl as string })
  await client.connect()
  const table = tableOf(job)
  if (!job.isIndexed) await client.query(`CREATE TABLE IF NOT EXISTS ${table} (LIKE cdrs)`)
  const text = `INSERT INTO ${table} SELECT * FROM json_populate_recordset(NULL::${table}, $1::json)`
  const feeding = await measured(rows.length, async () => {
    for (const values of texts) await client.query({ name: table, text, values: [values] })
  })
  await client.end()
  return feeding
}

serveParent<FeedJob, Feeding>(async (job) => {
  switch (job.kind) {
    case 'write':
      return { done: await write(job), processor: 0 }
    case 'send':
      return { done: await send(job), processor: 0 }
    case 'floor':
      return job.place.databaseUrl ? postgresFloor(job) : sqliteFloor(job)
  }
})
