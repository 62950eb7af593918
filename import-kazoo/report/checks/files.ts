import type { AttachedFile, Converted } from '../../documents/document.ts'
import { flawOfFile } from '../../source/files.ts'
import type { CheckTools, Tell } from './told.ts'

/** Of a file that the source could not give, or that nothing here can use, was told when its document was read. */
const code = 'file_unreadable'

const flawOf = ({ length, digest, contentType }: AttachedFile, bytes: Buffer) =>
  flawOfFile(bytes, { length, digest, content_type: contentType })

/** The files that belong to records are there, as long as they are to be, and what their digests say. */
export const createFileJudge =
  ({ run, adoptions }: Pick<CheckTools, 'run' | 'adoptions'>) =>
  async ({ document, drafts }: Converted, tell: Tell) => {
    for (const { as, accountId, id, files } of drafts) {
      if (files.length === 0) continue
      const there = await adoptions[as]?.files?.({ accountId, id })
      if (!there) continue
      const told = await run.fieldsOf(document.database, document.id, code)
      for (const file of files) {
        const bytes = there.get(file.role)
        if (!bytes && told.includes(file.name)) continue
        const flaw = bytes ? flawOf(file, bytes) : 'is not there'
        if (flaw)
          tell({ place: `account ${accountId}, ${as} ${id}`, reason: `the file ${file.name} ${flaw}` })
      }
    }
  }
