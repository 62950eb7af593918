// A folder with a file for each database, as couchdb-dump writes them: the body of one `_bulk_docs` each, a document a
// line. Until all is there the files have other names, and nobody takes them for whole.
import { chmod, mkdir, open, readdir, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { Refusal } from '../../src/storage/saved-store.ts'

// A dump is a file of credentials.
const ownFolder = 0o700
const ownFile = 0o600

const unfinished = '.part'
const ending = '.json'
const beginning = '{"new_edits":false,"docs":[\n'
const between = ',\n'
const end = '\n]}\n'

export interface LeavingFolder {
  /** Adds documents to a database; in which order is no matter. */
  add(database: string, texts: readonly string[]): Promise<void>
  /** Makes the files whole. Answers with how many there are. */
  finish(): Promise<number>
}

const makeEmpty = async (path: string) => {
  await mkdir(path, { recursive: true, mode: ownFolder })
  const found = await readdir(path)
  if (found.length > 0) throw new Refusal(`${path} is not empty: an export goes into a folder of its own`)
  await chmod(path, ownFolder)
}

const finishFile = async (path: string) => {
  const file = await open(path, 'a', ownFile)
  try {
    await file.appendFile(end)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(path, path.slice(0, -unfinished.length))
}

/** An empty folder to write into; refused where there is something in it. */
export const openLeavingFolder = async (path: string): Promise<LeavingFolder> => {
  await makeEmpty(path)
  return {
    async add(database, texts) {
      if (texts.length === 0) return
      // There may be some hundred thousand databases: none of them stays open.
      const file = await open(
        join(path, `${encodeURIComponent(database)}${ending}${unfinished}`),
        'a',
        ownFile,
      )
      try {
        const { size } = await file.stat()
        await file.appendFile((size === 0 ? beginning : between) + texts.join(between))
      } finally {
        await file.close()
      }
    },

    async finish() {
      const names = (await readdir(path)).filter((name) => name.endsWith(unfinished))
      for (const name of names) await finishFile(join(path, name))
      return names.length
    },
  }
}
