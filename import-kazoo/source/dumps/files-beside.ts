// Files that lie beside a dump, as it names them. A dump is written by others: no name in it leads out of its folder.
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { basename, resolve, sep } from 'node:path'
import type { Json } from '../../../src/lib/json.ts'
import { createFileCheck } from '../file-checks.ts'
import { SourceTrouble } from '../source.ts'

const isFile = (path: string) =>
  stat(path).then(
    (found) => found.isFile(),
    () => false,
  )

/** The first of some paths below a folder where a file is. */
export const fileBelow = async (folder: string, paths: readonly (readonly string[])[]) => {
  const root = resolve(folder)
  for (const path of paths) {
    const found = resolve(root, ...path)
    if (found.startsWith(root + sep) && (await isFile(found))) return found
  }
  return undefined
}

/** Bytes as they come, held against what the document says of them. */
export async function* checked(
  pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  facts: Json,
  what: string,
) {
  const check = createFileCheck(facts)
  for await (const piece of pieces) {
    check.add(piece)
    yield piece
  }
  const flaw = check.flaw()
  if (flaw) throw new SourceTrouble(`${what} ${flaw}`)
}

export const bytesOfFile = (path: string, facts: Json): AsyncGenerator<Uint8Array> =>
  checked(createReadStream(path), facts, `the file ${basename(path)}`)
