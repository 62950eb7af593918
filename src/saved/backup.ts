import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { readServerKey } from '../auth/keyring.ts'
import type { Config } from '../config/config.ts'
import { type Clock, isoTime } from '../lib/clock.ts'
import { dumpPostgres } from '../storage/postgres-dump.ts'
import { Refusal, type StoreCopy } from '../storage/saved-store.ts'
import { copySqlite } from '../storage/sqlite-copy.ts'
import { version } from '../version.ts'
import { writeArchive } from './archive.ts'
import { dataFiles } from './data-files.ts'
import { format, type Manifest } from './manifest.ts'
import { writeNewFile } from './new-file.ts'
import { withStaging } from './staging.ts'
import { checkRecipients, enclose } from './tar.ts'

interface Surroundings {
  config: Pick<Config, 'dataDir' | 'databaseUrl'>
  clock: Clock
  /** For other programs. */
  environment: NodeJS.ProcessEnv
}

interface BackupOptions {
  /** `-`: standard output. */
  file: string
  /** None: not encrypted. */
  recipients: readonly string[]
}

interface Made {
  manifest: Manifest
  bytes: number
}

const copyOf = (
  { config: { dataDir, databaseUrl }, environment }: Surroundings,
  folder: string,
): Promise<StoreCopy> =>
  databaseUrl
    ? dumpPostgres({ url: databaseUrl, environment })
    : copySqlite(join(dataDir, 'crosspoint.db'), folder)

/** Keeps standard output open. Returns the number of bytes. */
const writeToOutput = async (content: AsyncIterable<Uint8Array>) => {
  let bytes = 0
  async function* counted() {
    for await (const piece of content) {
      bytes += piece.length
      yield piece
    }
  }
  await pipeline(Readable.from(counted()), process.stdout, { end: false })
  return bytes
}

/** Works with or without running servers. */
export const makeBackup = (
  surroundings: Surroundings,
  { file, recipients }: BackupOptions,
): Promise<Made> => {
  const { config, clock } = surroundings
  checkRecipients(recipients)
  if (!readServerKey(config.dataDir))
    throw new Refusal(
      `keys/server.key is missing in ${config.dataDir}. A backup needs it: run this command on a machine with the key`,
    )
  return withStaging(config.dataDir, async (folder) => {
    const asOf = isoTime(clock.now())
    const copy = await copyOf(surroundings, folder)
    try {
      const { upgrade, counts, pieces } = copy
      const engine = config.databaseUrl ? 'postgres' : 'sqlite'
      const manifest: Manifest = { format, crosspoint: version, engine, upgrade, as_of: asOf, counts }
      const archive = writeArchive({ manifest, files: dataFiles(config.dataDir), pieces })
      const content = await enclose(archive, recipients)
      const bytes = await (file === '-' ? writeToOutput(content) : writeNewFile(file, content))
      return { manifest, bytes }
    } finally {
      await copy.close()
    }
  })
}
