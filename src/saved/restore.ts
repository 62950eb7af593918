import { existsSync, linkSync, mkdirSync, rmSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Readable } from 'node:stream'
import type { Config } from '../config/config.ts'
import { codeOf } from '../lib/error-facts.ts'
import { checkEmptyPostgres, restorePostgres } from '../storage/postgres-dump.ts'
import { Refusal } from '../storage/saved-store.ts'
import { upgradeOfSqlite } from '../storage/sqlite-copy.ts'
import { upgrades } from '../storage/upgrades.ts'
import { readArchive } from './archive.ts'
import { isSame } from './data-files.ts'
import { type Manifest, readManifest } from './manifest.ts'
import { syncFolder } from './new-file.ts'
import { withStaging } from './staging.ts'
import { damaged, disclose } from './tar.ts'

interface Surroundings {
  config: Pick<Config, 'dataDir' | 'databaseUrl'>
  /** For other programs. */
  environment: NodeJS.ProcessEnv
}

interface RestoreOptions {
  /** `-`: standard input. */
  file: string
  /** Content of the file of identities. */
  identities: string | undefined
}

interface Unpacked {
  manifest: Manifest
  store: string
  /** Paths in the data directory. */
  files: readonly string[]
}

const storeName = 'crosspoint.db'
// An old log would be applied to the restored store.
const leftovers = ['', '-wal', '-shm', '-journal']
const engineNames = { sqlite: 'the embedded store', postgres: 'PostgreSQL' }

const engineOf = ({ databaseUrl }: Surroundings['config']) => (databaseUrl ? 'postgres' : 'sqlite')

const requireEmpty = async ({ config: { dataDir, databaseUrl }, environment }: Surroundings) => {
  if (databaseUrl) return checkEmptyPostgres({ url: databaseUrl, environment })
  const found = leftovers.map((ending) => join(dataDir, `${storeName}${ending}`)).find(existsSync)
  if (found) throw new Refusal(`the store is not empty: it contains ${found}. Restore into an empty store`)
}

const writeDurably = async (file: string, flags: 'wx' | 'a', content: AsyncIterable<Uint8Array>) => {
  const handle = await open(file, flags, 0o600)
  try {
    await handle.writeFile(content)
    await handle.sync()
  } finally {
    await handle.close()
  }
}

const dataIn = (folder: string) => join(folder, 'data')

const unpack = async (content: AsyncIterable<Uint8Array>, folder: string): Promise<Unpacked> => {
  const store = join(folder, storeName)
  const files: string[] = []
  let manifest: Manifest | undefined
  const known = upgrades.at(-1)?.number ?? 0
  await readArchive(content, {
    manifest(text) {
      manifest = readManifest(text, known)
    },
    async file(name, bytes) {
      const path = join(dataIn(folder), name)
      mkdirSync(dirname(path), { recursive: true })
      await writeDurably(path, 'wx', bytes)
      files.push(name)
    },
    piece: (bytes) => writeDurably(store, 'a', bytes),
  })
  if (!manifest) throw damaged('it has no manifest')
  return { manifest, store, files }
}

const requireEngine = (manifest: Manifest, engine: Manifest['engine']) => {
  if (manifest.engine !== engine)
    throw new Refusal(
      `the backup is from ${engineNames[manifest.engine]}, but the settings are for ${engineNames[engine]}`,
    )
}

/** Refuses an existing name. */
const link = (from: string, to: string) => {
  mkdirSync(dirname(to), { recursive: true, mode: 0o700 })
  try {
    linkSync(from, to)
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error
    throw new Refusal(`${to} already exists: restore into an empty directory`)
  }
  syncFolder(dirname(to))
}

/** Skips equal files. Returns the new ones. */
const placeFiles = (folder: string, dataDir: string, files: readonly string[]) => {
  const absent = files.filter((name) => {
    const same = isSame(join(dataDir, name), join(dataIn(folder), name))
    if (same === false)
      throw new Refusal(`${join(dataDir, name)} differs from the file in the backup: rename it first`)
    return same === undefined
  })
  for (const name of absent) link(join(dataIn(folder), name), join(dataDir, name))
  return absent
}

const placeStore = async ({ config, environment }: Surroundings, { store, manifest }: Unpacked) => {
  if (config.databaseUrl) return restorePostgres({ url: config.databaseUrl, environment }, store)
  if ((await upgradeOfSqlite(store)) !== manifest.upgrade)
    throw damaged('its store does not match its manifest')
  link(store, join(config.dataDir, storeName))
}

const openSource = async (file: string): Promise<Readable> => {
  if (file === '-') return process.stdin
  try {
    const handle = await open(file)
    return handle.createReadStream({ highWaterMark: 1_048_576 })
  } catch (error) {
    throw codeOf(error) === 'ENOENT' ? new Refusal(`there is no file ${file}`) : error
  }
}

/** The store is placed last and at once, so that an interrupted restore can be repeated. */
export const restoreBackup = async (surroundings: Surroundings, asked: RestoreOptions): Promise<Manifest> => {
  const { dataDir } = surroundings.config
  await requireEmpty(surroundings)
  const source = await openSource(asked.file)
  try {
    return await withStaging(dataDir, async (folder) => {
      const unpacked = await unpack(await disclose(source, asked.identities), folder)
      requireEngine(unpacked.manifest, engineOf(surroundings.config))
      const placed = placeFiles(folder, dataDir, unpacked.files)
      try {
        await placeStore(surroundings, unpacked)
      } catch (error) {
        for (const name of placed) rmSync(join(dataDir, name), { force: true })
        throw error
      }
      return unpacked.manifest
    })
  } finally {
    source.destroy()
  }
}
