// A store after a first start, the program, and a server when a test asks for one.
import { join } from 'node:path'
import { createKeyring, readServerKey } from '../../../src/auth/keyring.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { openPostgres } from '../../../src/storage/postgres.ts'
import { openSqlite } from '../../../src/storage/sqlite.ts'
import { createStore } from '../../../src/storage/store.ts'
import { snapshotOf } from '../matchers/snapshot.ts'
import { runHere } from '../run/command-here.ts'
import { openCommandLine } from '../run/command-line.ts'
import type { Engine } from '../servers/databases.ts'
import { type ServerProcess, startServerProcess } from '../servers/server-process.ts'
import { environmentOf, makeStartedPlace } from './first-start.ts'

export type House = Awaited<ReturnType<typeof openHouse>>

export const openHouse = async (engine: Engine) => {
  const place = await makeStartedPlace(engine)
  const environment = environmentOf(place)
  let server: ServerProcess | undefined
  const person = openCommandLine(environment)
  const openDatabase = () =>
    place.databaseUrl ? openPostgres(place.databaseUrl) : openSqlite(join(place.dataDir, 'crosspoint.db'))
  const db = openDatabase()
  const store = createStore(db, systemClock)
  const key = readServerKey(place.dataDir)
  if (!key) throw new Error('the start has made no key')
  store.sealing.use(createKeyring(key))
  await store.fence()
  return {
    place,
    person,
    store,
    db,
    /** Starts a server, which stops when the fixture is closed. */
    async startServer() {
      server = await startServerProcess(environment, place.dataDir)
      return server
    },
    snapshot: () => snapshotOf(store, engine),
    /** Runs the command in the process of the tests. `person` runs commands in separate processes. */
    importing: (...args: string[]) => runHere(environment, ['import', 'kazoo', ...args]),
    exporting: (...args: string[]) => runHere(environment, ['export', 'kazoo', ...args]),
    async close() {
      await db.close()
      await server?.end()
      person.remove()
      await place.remove()
    },
  }
}
