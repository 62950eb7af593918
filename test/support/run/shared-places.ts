// Places that the files of a worker share. They are removed when the run ends, because a worker does not know its last file.
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { dropDatabase } from '../servers/postgres.ts'

interface SharedPlace {
  dataDir?: string | undefined
  databaseUrl: string | undefined
}

const fileIn = (runFolder: string) => join(runFolder, 'shared-places.jsonl')

/** Notes a place for the end of the run. */
export const sharePlace = (runFolder: string, { dataDir, databaseUrl }: SharedPlace) =>
  appendFileSync(fileIn(runFolder), `${JSON.stringify({ dataDir, databaseUrl })}\n`)

/** The places that were noted, each with what removes it. */
export const sharedPlaces = (runFolder: string) => {
  const file = fileIn(runFolder)
  if (!existsSync(file)) return []
  const lines = readFileSync(file, 'utf8').trimEnd().split('\n')
  return lines.map((line) => {
    const { dataDir, databaseUrl } = JSON.parse(line) as SharedPlace
    return {
      async remove(serverUrl: string | undefined) {
        if (serverUrl && databaseUrl) await dropDatabase(serverUrl, new URL(databaseUrl).pathname.slice(1))
        if (dataDir) await rm(dataDir, { recursive: true, force: true })
      },
    }
  })
}
