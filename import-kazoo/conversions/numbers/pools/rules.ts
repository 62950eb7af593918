// Numbers that accounts have in stock: `numbers/managed` and `numbers/inum`.
import type { Converted, KazooDocument } from '../../../documents/document.ts'
import { isGone, textIn, timesOf } from '../../../documents/fields.ts'
import { converted, finding } from '../../findings.ts'
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
  if (isGone(document.fields)) return converted(document, 'skipped')
  const number = numberOf(document.id)
  const owner = ownerOf(document)
  if (number === undefined) {
    const told = { field: '_id', old: document.id }
    return keepDocument(document, systemId, {
      findings: [finding(document, 'needs_hand', 'number_unreadable', told)],
    })
  }
  if (owner === undefined || !accounts.has(owner)) {
    const told = { field: 'pvt_assigned_to', old: owner ?? '' }
    return converted(document, 'skipped', {
      findings: [finding(document, 'left_out', 'pool_owner_gone', told)],
    })
  }
  const draft = {
    as: 'pool_number',
    accountId: owner,
    id: number,
    ...timesOf(document.fields),
    doc: {},
    facts: { carrier: `knm_${pool}` as const, isTaken: stateTextOf(document.fields) === 'in_service' },
    files: [],
  }
  return converted(document, 'imported', { drafts: [draft] })
}
