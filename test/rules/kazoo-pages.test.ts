import { expect, it } from 'vitest'
import { pagesOf, type SourceRow } from '../../import-kazoo/source/documents.ts'
import { DatabaseVanished, SourceTrouble } from '../../import-kazoo/source/source.ts'

/** The ids of all pages, and what ended the reading. */
const readBefore = async (error: Error) => {
  const rows = async function* (): AsyncGenerator<SourceRow> {
    for (const id of ['a', 'b'])
      yield { mark: id, document: { id, rev: '1-a', conflicts: [], text: `{"_id":"${id}"}` } }
    throw error
  }
  const ids: string[] = []
  try {
    for await (const { documents } of pagesOf(rows())) ids.push(...documents.map(({ id }) => id))
  } catch (reason) {
    return { ids, reason }
  }
  return { ids, reason: undefined }
}

it('documents that were read before their database vanished are a page', async () => {
  const reason = new DatabaseVanished('the database was deleted')
  expect(await readBefore(reason)).toEqual({ ids: ['a', 'b'], reason })
})

it('documents before another fault are read again', async () => {
  const reason = new SourceTrouble('the connection broke')
  expect(await readBefore(reason)).toEqual({ ids: [], reason })
})
