// Disk, processor time, memory and connections of a server and its database so far.
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Client } from 'pg'
import { codeOf } from '../src/lib/error-facts.ts'
import { postmasterOf, postmasterSeconds } from './postmaster.ts'
import { memoryOf, type Place, processorSecondsOf, type RunningServer } from './server.ts'

export interface Spent {
  serverSeconds: number
  /** NaN if the database runs on another machine. Includes other users of the database. */
  databaseSeconds: number
}

export interface Reading extends Spent {
  tableBytes: number
  logBytes: number
  tallies: { rows: number; bytes: number }
}

export interface MemoryReading {
  serverBytes: number
  connections: number
  connectionBytes: number
  databaseBytes: number
}

export interface Meter {
  spent(): Promise<Spent>
  read(): Promise<Reading>
  memory(): Promise<MemoryReading>
  close(): Promise<void>
}

const megabyte = 1024 * 1024

const sizeOf = async (file: string) => (await stat(file).catch(() => ({ size: 0 }))).size

const ownBytesOf = async (pid: number) => ((await memoryOf(pid))?.own ?? Number.NaN) * megabyte

const openSqliteMeter = ({ dataDir }: Place, { pid }: RunningServer): Meter => {
  const file = join(dataDir, 'crosspoint.db')
  const db = new DatabaseSync(file)
  db.exec('PRAGMA busy_timeout = 5000')
  const number = (sql: string) => Object.values(db.prepare(sql).get() as Record<string, number>)[0] as number
  const spent = async () => ({ serverSeconds: await processorSecondsOf(pid), databaseSeconds: 0 })
  return {
    spent,
    async read() {
      const logBytes = await sizeOf(`${file}-wal`)
      // Data in the log only is not counted in the pages of the file.
      db.exec('PRAGMA wal_checkpoint(FULL)')
      return {
        tableBytes: number('PRAGMA page_count') * number('PRAGMA page_size'),
        logBytes,
        tallies: {
          rows: number('SELECT count(*) FROM cdr_tallies'),
          bytes: number("SELECT coalesce(sum(pgsize), 0) FROM dbstat WHERE name = 'cdr_tallies'"),
        },
        ...(await spent()),
      }
    },
    async memory() {
      return { serverBytes: await ownBytesOf(pid), connections: 0, connectionBytes: 0, databaseBytes: 0 }
    },
    close: async () => db.close(),
  }
}

const insufficientPrivilege = '42501'

const openPostgresMeter = async (url: string, { pid }: RunningServer): Promise<Meter> => {
  const client = new Client({ connectionString: url, application_name: 'bench' })
  await client.connect()
  const sumOf = async (sql: string): Promise<number> => {
    try {
      return (await client.query<{ bytes: number }>(sql)).rows[0]?.bytes ?? Number.NaN
    } catch (error) {
      // A user who may not ask gets no answer.
      if (codeOf(error) !== insufficientPrivilege) throw error
      return Number.NaN
    }
  }
  const postmaster = await postmasterOf(url)
  const spent = async () => ({
    serverSeconds: await processorSecondsOf(pid),
    databaseSeconds: await postmasterSeconds(postmaster),
  })
  return {
    spent,
    async read() {
      const { rows } = await client.query(`SELECT pg_database_size(current_database())::float8 AS tables,
        (SELECT count(*) FROM cdr_tallies)::float8 AS tallies,
        pg_total_relation_size('cdr_tallies')::float8 AS tally_bytes`)
      return {
        tableBytes: rows[0].tables,
        logBytes: await sumOf('SELECT sum(size)::float8 AS bytes FROM pg_ls_waldir()'),
        tallies: { rows: rows[0].tallies, bytes: rows[0].tally_bytes },
        ...(await spent()),
      }
    },
    async memory() {
      const { rows } = await client.query(`SELECT pid FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'`)
      const sizes = await Promise.all(rows.map((row) => ownBytesOf(row.pid)))
      return {
        serverBytes: await ownBytesOf(pid),
        connections: rows.length,
        connectionBytes: sizes.reduce((sum, bytes) => sum + bytes, 0) / Math.max(1, sizes.length),
        databaseBytes: await sumOf('SELECT sum(size)::float8 AS bytes FROM pg_shmem_allocations'),
      }
    },
    close: () => client.end(),
  }
}

/** Reads figures of a running server, its store and its database. */
export const openMeter = async (place: Place, server: RunningServer): Promise<Meter> =>
  place.databaseUrl ? openPostgresMeter(place.databaseUrl, server) : openSqliteMeter(place, server)
