import { isObject } from '../../../src/lib/json.ts'
import type { Finding, KazooDocument } from '../../documents/document.ts'
import { finding } from '../findings.ts'

/** Files whose bytes the database does not hold. */
export const filesOutside = (document: KazooDocument): Finding[] => {
  const { pvt_attachments: outside } = document.fields
  return Object.keys(isObject(outside) ? outside : {}).map((field) =>
    finding(document, 'needs_hand', 'file_outside', { field }),
  )
}
