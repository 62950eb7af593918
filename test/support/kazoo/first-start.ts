// A store after the first start of a server.
import { type Engine, makePlace, type Place } from '../servers/databases.ts'
import { copyFirstStart, startServerProcess } from '../servers/server-process.ts'

/** The environment of the server and of the commands of a place. */
export const environmentOf = ({ dataDir, databaseUrl }: Place): Record<string, string> => ({
  CROSSPOINT_DATA_DIR: dataDir,
  ...(databaseUrl === undefined ? {} : { CROSSPOINT_DATABASE_URL: databaseUrl }),
})

/** A place with a store that holds a first start and nothing else; no server runs there. */
export const makeStartedPlace = async (engine: Engine): Promise<Place> => {
  const place = await makePlace(engine, { isUpgraded: engine === 'postgres' })
  if (place.databaseUrl === undefined) await copyFirstStart(place.dataDir)
  else await (await startServerProcess(environmentOf(place), place.dataDir)).end()
  return place
}
