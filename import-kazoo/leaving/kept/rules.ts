// Documents that nothing here has read go out as they came, to the letter. What is told of files that are not here goes:
// nobody takes a document whose files are promised and missing.
import { isObject, type Json } from '../../../src/lib/json.ts'
import { membersIn } from '../../source/document-text.ts'
import { firstRevision, inlineFiles, type LeavingFile } from '../document.ts'

const attachments = '_attachments'

const revposOf = (stub: unknown) => (isObject(stub) && typeof stub.revpos === 'number' ? stub.revpos : 1)

/** The text of a kept document with the bytes of its files. */
export const keptText = (text: string, files: readonly LeavingFile[]): string => {
  const fields: Json = JSON.parse(text)
  const hasRevision = typeof fields._rev === 'string'
  const stubs = fields[attachments]
  if (hasRevision && stubs === undefined) return text
  const members = membersIn(text)
    .filter(({ key }) => key !== attachments)
    .flatMap((member) =>
      member.key === '_id' && !hasRevision
        ? [member.text, `"_rev":${JSON.stringify(firstRevision(text))}`]
        : [member.text],
    )
  const inline = files.map((file) => {
    const revpos = revposOf(isObject(stubs) ? stubs[file.name] : undefined)
    return inlineFiles([file], hasRevision ? revpos : 1)
  })
  const own = inline.length > 0 ? [`"${attachments}":${JSON.stringify(Object.assign({}, ...inline))}`] : []
  return `{${[...members, ...own].join(',')}}`
}
