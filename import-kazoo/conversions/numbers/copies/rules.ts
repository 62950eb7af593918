// Copies of numbers in the databases of accounts, held against the databases of numbers.
import type { Converted, KazooDocument } from '../../../documents/document.ts'
import { isGone, textIn } from '../../../documents/fields.ts'
import { converted, finding } from '../../findings.ts'
import { stateTextOf } from '../older-forms.ts'
import { convertNumber, type NumberContext, numberOf } from '../rules.ts'

export interface CopyContext extends NumberContext {
  /** Who has the number here; empty: nobody. Undefined: there is no such number. */
  ownerOf(number: string): string | undefined
  /** Whether the source has a database of that name. */
  hasDatabase(name: string): boolean
}

const prefixLength = 5

const shardOf = (number: string) => `numbers/${number.slice(0, prefixLength)}`

const isWorthTelling = ({ fields }: KazooDocument) => !isGone(fields) && stateTextOf(fields) !== 'discovery'

/** A copy in an account. The truth is not here: it is told where they differ, or taken where nothing else is left. */
export const compareCopy = (document: KazooDocument, accountId: string, context: CopyContext): Converted => {
  const number = numberOf(document.id)
  if (number === undefined || !isWorthTelling(document)) return converted(document, 'skipped')
  const owner = context.ownerOf(number)
  if (owner === accountId) return converted(document, 'skipped')
  if (owner !== undefined) {
    const told = { field: 'pvt_assigned_to', old: accountId, new: owner }
    return converted(document, 'skipped', {
      findings: [finding(document, 'repaired', 'number_copy_differs', told)],
    })
  }
  if (context.hasDatabase(shardOf(number))) {
    const told = { field: 'pvt_assigned_to', old: accountId, new: '' }
    return converted(document, 'skipped', {
      findings: [finding(document, 'left_out', 'number_copy_alone', told)],
    })
  }
  const assigned = textIn(document.fields, 'pvt_assigned_to') ?? accountId
  const taken = convertNumber(
    { ...document, fields: { ...document.fields, pvt_assigned_to: assigned } },
    context,
  )
  const told = { field: '_id', old: shardOf(number), new: document.database }
  return {
    ...taken,
    document,
    drafts: taken.drafts.map((draft) => ({ ...draft, as: 'number_by_hearsay' })),
    findings: [finding(document, 'repaired', 'number_from_copy', told), ...taken.findings],
  }
}
