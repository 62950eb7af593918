// Copies of numbers in the databases of accounts, held against the databases of numbers.
import type { Converted, KazooDocument } from '../../../documents/document.ts'
import { isGone, textIn } from '../../../documents/fields.ts'
import { converted, finding, leftOut } from '../../findings.ts'
import { stateTextOf } from '../older-forms.ts'
import { convertNumber, type NumberContext, numberOf, shardOf } from '../rules.ts'

export interface CopyContext extends NumberContext {
  /** Who has the number here; empty: nobody. Undefined: there is no such number. */
  ownerOf(number: string): string | undefined
  /** Whether the source has a database of that name. */
  hasDatabase(name: string): boolean
}

/** A copy in an account. The truth is not here: it is told where they differ, or taken where nothing else is left. */
export const compareCopy = (document: KazooDocument, accountId: string, context: CopyContext): Converted => {
  const { fields } = document
  const number = numberOf(document.id)
  const isThere = !isGone(fields) && stateTextOf(fields) !== 'discovery'
  if (number === undefined || !isThere) return converted(document, 'skipped')
  const owner = context.ownerOf(number)
  if (owner === accountId) return converted(document, 'skipped')
  const field = 'pvt_assigned_to'
  if (owner !== undefined) {
    const told = { field, old: accountId, new: owner }
    const findings = [finding(document, 'repaired', 'number_copy_differs', told)]
    return converted(document, 'skipped', { findings })
  }
  const shard = shardOf(number)
  if (context.hasDatabase(shard))
    return leftOut(document, 'number_copy_alone', { field, old: accountId, new: '' })
  const assigned = textIn(fields, field) ?? accountId
  const taken = convertNumber({ ...document, fields: { ...fields, [field]: assigned } }, context)
  const told = { field: '_id', old: shard, new: document.database }
  return {
    ...taken,
    document,
    drafts: taken.drafts.map((draft) => ({ ...draft, as: 'number_by_hearsay' })),
    findings: [finding(document, 'repaired', 'number_from_copy', told), ...taken.findings],
  }
}
