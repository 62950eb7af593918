// A store after the first start of a server. On SQLite the first start happens once in each process of the tests.
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Engine, makePlace, type Place } from '../databases.ts'
import { startServerProcess } from '../server-process.ts'

// Commands run in the process of the tests, where sign-in keys have their real cost. One store has keys of one cost.
const realKeys = { CROSSPOINT_TEST_KEYS: 'real' }

const startOnce = async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'crosspoint-started-'))
  process.once('exit', () => rmSync(dataDir, { recursive: true, force: true }))
  const server = await startServerProcess({ CROSSPOINT_DATABASE_URL: undefined, ...realKeys }, dataDir)
  await server.end()
  return dataDir
}

let started: ReturnType<typeof startOnce> | undefined

/** What a server of the place and the commands there are started with. */
export const environmentOf = ({ dataDir, databaseUrl }: Place): Record<string, string> => ({
  CROSSPOINT_DATA_DIR: dataDir,
  ...realKeys,
  ...(databaseUrl === undefined ? {} : { CROSSPOINT_DATABASE_URL: databaseUrl }),
})

/** A place with a store that holds a first start and nothing else; no server runs there. */
export const makeStartedPlace = async (engine: Engine): Promise<Place> => {
  const place = await makePlace(engine, { isUpgraded: engine === 'postgres' })
  if (place.databaseUrl === undefined) {
    started ??= startOnce()
    cpSync(await started, place.dataDir, { recursive: true })
  } else {
    const server = await startServerProcess(environmentOf(place), place.dataDir)
    await server.end()
  }
  return place
}
