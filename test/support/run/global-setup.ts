import { randomInt } from 'node:crypto'
import { mkdir, mkdtemp, rm, statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import sparticuz from '@sparticuz/chromium'
import type { TestProject } from 'vitest/node'
import { systemClock } from '../../../src/lib/clock.ts'
import { openPostgres } from '../../../src/storage/postgres.ts'
import { upgradeStorage } from '../../../src/storage/upgrades.ts'
import { citusPrograms, startCitusServer } from '../servers/citus.ts'
import { createDatabase, engines, startPostgres } from '../servers/postgres.ts'
import { isWholeRun } from './run-length.ts'
import { sharedPlaces } from './shared-places.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** The run's PostgreSQL; undefined when this run does not test on PostgreSQL. */
    postgresUrl: string | undefined
    /** The name of a database there that holds an empty store of the newest structure; undefined: Citus makes none by copying. */
    postgresTemplate: string | undefined
    /** Where the processes of a run write what the whole run needs. */
    runFolder: string
    /** Where they note the SQL statements that they send, if this run executes all tests on both engines. */
    statementFolder: string
  }
}

/** Unpacked here once: two workers that begin with it at the same time would find each other's halves. */
const unpackBrowser = async () => {
  if (!process.env.CROSSPOINT_TEST_BROWSER) await sparticuz.executablePath()
}

const memoryFolder = '/dev/shm'
const enoughBytes = 4 * 2 ** 30

/** Temporary files go to memory where Linux has enough of it: stores of tests need no disk. Workers inherit the variable. */
const useMemoryForFiles = async () => {
  const found = await statfs(memoryFolder).catch(() => undefined)
  if (!process.env.TMPDIR && found && found.bavail * found.bsize >= enoughBytes)
    process.env.TMPDIR = memoryFolder
}

/** One seed for the whole run. Workers inherit the variable. */
const drawSeed = () => {
  process.env.CROSSPOINT_TEST_SEED ??= String(randomInt(1_000_000))
  console.log(`Random draws of this run: CROSSPOINT_TEST_SEED=${process.env.CROSSPOINT_TEST_SEED}`)
}

const startServer = () => {
  if (!process.env.CROSSPOINT_TEST_CITUS) return startPostgres()
  if (!citusPrograms) throw new Error('CROSSPOINT_TEST_CITUS: no PostgreSQL with Citus is installed')
  return startCitusServer(citusPrograms)
}

/** Workers inherit the variable; see note-statements.mjs. */
const noteStatements = async (runFolder: string) => {
  if (!isWholeRun) return ''
  const folder = join(runFolder, 'statements')
  await mkdir(folder)
  process.env.CROSSPOINT_TEST_STATEMENTS = folder
  return folder
}

/** Upgrading an empty store costs the server more than most tests do. */
const makeTemplate = async (serverUrl: string) => {
  const database = await createDatabase(serverUrl)
  const db = openPostgres(database.url)
  await upgradeStorage(db, systemClock)
  await db.close()
  return database
}

export default async function setup(project: TestProject) {
  drawSeed()
  await useMemoryForFiles()
  await unpackBrowser()
  const server = engines.includes('postgres') ? await startServer() : undefined
  const isCitus = process.env.CROSSPOINT_TEST_CITUS !== undefined
  const template = server && !isCitus ? await makeTemplate(server.url) : undefined
  project.provide('postgresUrl', server?.url)
  const runFolder = await mkdtemp(join(tmpdir(), 'crosspoint-run-'))
  project.provide('runFolder', runFolder)
  project.provide('statementFolder', await noteStatements(runFolder))
  project.provide('postgresTemplate', template && new URL(template.url).pathname.slice(1))
  return async () => {
    for (const place of sharedPlaces(runFolder)) await place.remove(server?.url)
    await template?.drop()
    await server?.stop()
    await rm(runFolder, { recursive: true })
  }
}
