import { isObject } from '../../src/lib/json.ts'
import type { AttachedFile, KazooDocument } from './document.ts'
import { integerIn, textIn } from './fields.ts'

/** A file of a document, and since which revision of the document it is there. */
export interface Attachment extends Omit<AttachedFile, 'role'> {
  since: number
}

/** The files that lie beside a document, by name. */
export const attachmentsOf = (
  { fields }: Pick<KazooDocument, 'fields'>,
  usualType = 'application/octet-stream',
): Attachment[] =>
  Object.entries(isObject(fields._attachments) ? fields._attachments : {})
    .map(([name, stub]) => {
      const digest = textIn(stub, 'digest')
      return {
        name,
        contentType: textIn(stub, 'content_type') ?? usualType,
        length: integerIn(stub, 'length'),
        ...(digest === undefined ? {} : { digest }),
        since: integerIn(stub, 'revpos') ?? 0,
      }
    })
    .sort((one, other) => (one.name < other.name ? -1 : 1))

/** What a file is to its record. */
export const fileAs = (role: string, { since: _, ...file }: Attachment): AttachedFile => ({ role, ...file })
