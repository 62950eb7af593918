import type { Converted, KazooDocument } from '../documents/document.ts'
import { isGone, textIn } from '../documents/fields.ts'
import { converted, leftOut } from './findings.ts'

/** What has to be known to say whose documents of databases are that all accounts share. */
export interface OwnerContext {
  /** Those that are imported. */
  accounts: { has(accountId: string): boolean }
  /** Whose what belongs to no account is. */
  systemId: string
}

/** What is converted of a document that belongs to an account. The others are gone, or their account is. */
export const ofOwner = (
  document: KazooDocument,
  { accounts }: Pick<OwnerContext, 'accounts'>,
  convert: (accountId: string) => Converted,
): Converted => {
  if (isGone(document.fields)) return converted(document, 'skipped')
  const owner = textIn(document.fields, 'pvt_account_id')
  if (owner !== undefined && accounts.has(owner)) return convert(owner)
  return leftOut(document, 'owner_gone', { field: 'pvt_account_id', old: owner ?? '' })
}
