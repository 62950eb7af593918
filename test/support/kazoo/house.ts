// A store that has been started once, with its server beside it, and somebody who has the program.
import { join } from 'node:path'
import { createKeyring, readServerKey } from '../../../src/auth/keyring.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { openPostgres } from '../../../src/storage/postgres.ts'
import { openSqlite } from '../../../src/storage/sqlite.ts'
import { createStore } from '../../../src/storage/store.ts'
import { openCommandLine } from '../command-line.ts'
import { type Engine, makePlace } from '../databases.ts'
import { startServerProcess } from '../server-process.ts'
import { snapshotOf } from '../snapshot.ts'

export type House = Awaited<ReturnType<typeof openHouse>>

export const openHouse = async (engine: Engine) => {
  const place = await makePlace(engine)
  const environment = {
    CROSSPOINT_DATA_DIR: place.dataDir,
    ...(place.databaseUrl === undefined ? {} : { CROSSPOINT_DATABASE_URL: place.databaseUrl }),
  }
  const startServer = () => startServerProcess(environment, place.dataDir)
  let server = await startServer()
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
    get server() {
      return server
    },
    async restartServer() {
      await server.end()
      server = await startServer()
      return server
    },
    snapshot: () => snapshotOf(store, engine),
    importing: (...args: string[]) => person.run('import', 'kazoo', ...args),
    exporting: (...args: string[]) => person.run('export', 'kazoo', ...args),
    async close() {
      await db.close()
      await server.end()
      person.remove()
      await place.remove()
    },
  }
}
