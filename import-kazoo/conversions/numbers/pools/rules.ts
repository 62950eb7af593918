// Numbers that accounts have in stock: `numbers/managed` and `numbers/inum`.
import type { Converted, KazooDocument } from '../../../documents/document.ts'
import { isGone, textIn } from '../../../documents/fields.ts'
import { converted, finding, imported, leftOut } from '../../findings.ts'
import { keepDocument } from '../../kept/rules.ts'
import { stateTextOf } from '../older-forms.ts'
import { type NumberContext, numberOf } from '../rules.ts'

const ownerOf = ({ fields }: KazooDocument) =>
  textIn(fields, 'pvt_assigned_to') ?? textIn(fields, 'pvt_account_id')

/** Whose pool each number comes from. */
export const poolsIn = (
  documents: Iterable<KazooDocument>,
  { accounts }: Pick<NumberContext, 'accounts'>,
): (readonly [number: string, accountId: string])[] => {
  const found: (readonly [string, string])[] = []
  for (const document of documents) {
    const [number, owner] = [numberOf(document.id), ownerOf(document)]
    if (number === undefined || owner === undefined || isGone(document.fields)) continue
    if (accounts.has(owner)) found.push([number, owner])
  }
  return found
}

/** An entry of a pool. What is in service has been taken out of it, by whom the number itself says. */
export const convertPoolEntry = (
  document: KazooDocument,
  pool: 'managed' | 'inum',
  { accounts, systemId }: Pick<NumberContext, 'accounts' | 'systemId'>,
): Converted => {
  const { id, fields } = document
  if (isGone(fields)) return converted(document, 'skipped')
  const number = numberOf(id)
  if (number === undefined) {
    const unreadable = finding(document, 'needs_hand', 'number_unreadable', { field: '_id', old: id })
    return keepDocument(document, systemId, { findings: [unreadable] })
  }
  const owner = ownerOf(document) ?? ''
  if (!accounts.has(owner))
    return leftOut(document, 'pool_owner_gone', { field: 'pvt_assigned_to', old: owner })
  const facts = { carrier: `knm_${pool}`, isTaken: stateTextOf(fields) === 'in_service' }
  return imported(document, 'pool_number', owner, { id: number, facts })
}
