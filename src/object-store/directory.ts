import { mkdir, open, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { codeOf, messageOf } from '../lib/error-facts.ts'
import { syncFolder } from '../saved/new-file.ts'
import { type ObjectStore, ObjectStoreError } from './object-store.ts'

/** The folders of a key below a directory, the deepest first, and the directory itself. */
const foldersOf = (path: string, key: string) => {
  const names = key.split('/').slice(0, -1)
  return [...names.map((_, at) => join(path, ...names.slice(0, names.length - at))), path]
}

const isAbsent = (error: unknown) => codeOf(error) === 'ENOENT'

/**
 * Objects as files in an existing directory: a missing one may be an unmounted disk. `sync` makes names in a folder
 * durable.
 */
export const openDirectory = (path: string, sync = syncFolder): ObjectStore => {
  const name = `directory ${path}`

  const failing = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work()
    } catch (error) {
      if (error instanceof ObjectStoreError) throw error
      throw new ObjectStoreError(name, messageOf(error), error)
    }
  }

  const readFrom = async (key: string, from: number, to: number) => {
    const handle = await open(join(path, key), 'r')
    try {
      const bytes = new Uint8Array(to - from)
      const { bytesRead } = await handle.read(bytes, 0, bytes.length, from)
      if (bytesRead !== bytes.length) throw new ObjectStoreError(name, `${key} is too short`)
      return bytes
    } finally {
      await handle.close()
    }
  }

  const write = async (key: string, bytes: Uint8Array) => {
    await stat(path)
    const file = join(path, key)
    await mkdir(dirname(file), { recursive: true, mode: 0o700 })
    const draft = `${file}.partial`
    const handle = await open(draft, 'w', 0o600)
    try {
      await handle.writeFile(bytes)
      await handle.sync()
    } finally {
      await handle.close()
    }
    await rename(draft, file)
    // Each may be new.
    for (const folder of foldersOf(path, key)) sync(folder)
  }

  return {
    name,
    put: (key, bytes) => failing(() => write(key, bytes)),
    read: (key, from, to) => failing(() => readFrom(key, from, to)),
    size: (key) =>
      failing(async () => {
        try {
          return (await stat(join(path, key))).size
        } catch (error) {
          if (isAbsent(error)) return undefined
          throw error
        }
      }),
    remove: (key) =>
      failing(async () => {
        // Without it every file on an unmounted disk would count as removed.
        await stat(path)
        await rm(join(path, key), { force: true })
        await rm(join(path, `${key}.partial`), { force: true })
      }),
  }
}
