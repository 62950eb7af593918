import { closeSync, fsyncSync, openSync, rmSync } from 'node:fs'
import { open, rename } from 'node:fs/promises'
import { dirname } from 'node:path'
import { codeOf } from '../lib/error-facts.ts'
import { Refusal } from '../storage/saved-store.ts'

/** Makes new and removed names durable. */
export const syncFolder = (folder: string) => {
  const handle = openSync(folder, 'r')
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}

/** Synchronous, so that exit handlers know whether the file exists. */
const makeDraft = (draft: string) => {
  try {
    closeSync(openSync(draft, 'wx', 0o600))
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error
    throw new Refusal(
      `${draft} exists: another backup is running, or one was interrupted. In the second case, remove the file`,
    )
  }
}

const fill = async (draft: string, content: AsyncIterable<Uint8Array>) => {
  const handle = await open(draft, 'r+')
  try {
    await handle.writeFile(content)
    await handle.sync()
    return (await handle.stat()).size
  } finally {
    await handle.close()
  }
}

/** Writes FILE.partial and renames it when it is on disk; replaces an existing file. Returns the number of bytes. */
export const writeNewFile = async (file: string, content: AsyncIterable<Uint8Array>): Promise<number> => {
  const draft = `${file}.partial`
  makeDraft(draft)
  const remove = () => rmSync(draft, { force: true })
  process.once('exit', remove)
  try {
    const bytes = await fill(draft, content)
    await rename(draft, file)
    syncFolder(dirname(file))
    return bytes
  } finally {
    remove()
    process.removeListener('exit', remove)
  }
}
