// Backups as an operator makes them: the program in a separate process, on places of every kind of store.
import { execFileSync } from 'node:child_process'
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { Readable } from 'node:stream'
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { describe } from 'vitest'
import { type Member, readTar, writeTar } from '../../../src/saved/tar.ts'
import { openPostgres } from '../../../src/storage/postgres.ts'
import { openSqlite } from '../../../src/storage/sqlite.ts'
import type { Place } from '../servers/databases.ts'
import { lacks } from '../servers/installed.ts'
import {
  createDatabase,
  type Engine,
  engines,
  type PostgresServer,
  startPostgres,
} from '../servers/postgres.ts'
import { type CommandLine, openCommandLine } from './command-line.ts'
import { isFullRun } from './run-length.ts'

// The oldest server that Crosspoint takes.
const oldest = 15

/** The major version of the tools in a folder, NaN where they are not all there. */
const versionIn = (folder: string) => {
  const names = ['pg_dump', 'pg_restore', 'initdb', 'postgres']
  if (!names.every((name) => existsSync(join(folder, name)))) return Number.NaN
  const said = execFileSync(join(folder, 'pg_dump'), ['--version'], { encoding: 'utf8' })
  return Number(/ (\d+)/.exec(said)?.[1])
}

/** Where this machine has what dumps a database, with a server of the same version: PostgreSQL's own tools refuse newer ones. */
export const tools = [...(process.env.PATH ?? '').split(delimiter), ...globSync('/usr/lib/postgresql/*/bin')]
  .map((folder) => ({ folder, version: versionIn(folder) }))
  .filter(({ version }) => version >= oldest)
  .toSorted((one, other) => other.version - one.version)[0]?.folder

export const lacksDeps = lacks('pg_dump with a server of its version', tools)

/** `PATH` of the program, with the tools first. */
export const pathOfDeps = [...(tools ? [tools] : []), process.env.PATH].join(delimiter)

/** Repeats a suite for each engine that can be saved here; PostgreSQL needs its tools, which are no part of the npm package. */
export const describeSavable = (
  title: string,
  suite: (engine: Engine) => void,
  chosen: readonly Engine[] = engines,
) => {
  for (const engine of chosen) {
    const lacking = engine === 'postgres' ? lacksDeps : ''
    describe.skipIf(lacking)(`${title} on ${engine}${lacking}`, () => suite(engine))
  }
}

/** The same on one engine in `npm test`, on each in `npm run test:all`. */
export const describeAnySavable = (title: string, suite: (engine: Engine) => void) =>
  describeSavable(title, suite, isFullRun ? engines : engines.slice(0, 1))

export interface SavedPlace extends Place {
  commands: CommandLine
  /** The environment of a server of the place. */
  environment: Record<string, string | undefined>
  open(): ReturnType<typeof openSqlite>
}

let started: Promise<PostgresServer> | undefined

/** One server for all suites of this process. It stops when the process ends. */
const serverOfDeps = () => {
  started ??= startPostgres({ programs: tools as string })
  return started
}

/** Places of a suite that can be saved, and a folder for backups. */
export const openSavedPlaces = async (engine: Engine) => {
  const folder = mkdtempSync(join(tmpdir(), 'crosspoint-saved-'))
  const server = engine === 'postgres' ? await serverOfDeps() : undefined
  const made: SavedPlace[] = []

  const make = async (): Promise<SavedPlace> => {
    const dataDir = mkdtempSync(join(folder, 'data-'))
    const database = server && (await createDatabase(server.url))
    const databaseUrl = database?.url
    const environment = databaseUrl ? { CROSSPOINT_DATABASE_URL: databaseUrl } : {}
    const commands = openCommandLine({ ...environment, CROSSPOINT_DATA_DIR: dataDir, PATH: pathOfDeps })
    const place: SavedPlace = {
      dataDir,
      databaseUrl,
      commands,
      environment,
      open: () => (databaseUrl ? openPostgres(databaseUrl) : openSqlite(join(dataDir, 'crosspoint.db'))),
      async remove() {
        commands.remove()
        await database?.drop()
      },
    }
    made.push(place)
    return place
  }

  return {
    folder,
    make,
    async end() {
      await Promise.all(made.map((place) => place.remove()))
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

export type SavedPlaces = Awaited<ReturnType<typeof openSavedPlaces>>

/** Makes another backup of what `change` makes of the members of one. */
export const rebuilt = async (file: string, to: string, change: (member: Member) => Member) => {
  const clear = zstdDecompressSync(readFileSync(file))
  const all = async (pieces: AsyncIterable<Uint8Array>) => {
    const found: Uint8Array[] = []
    for await (const piece of pieces) found.push(piece)
    return Buffer.concat(found)
  }
  async function* members(): AsyncGenerator<Member> {
    for await (const { name, content } of readTar(Readable.from([clear])))
      yield change({ name, content: await all(content) })
  }
  writeFileSync(to, zstdCompressSync(await all(writeTar(members()))))
}
