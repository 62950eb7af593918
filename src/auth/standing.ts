import { failure } from '../lib/failure.ts'
import type { Records } from '../storage/records.ts'
import { type AccountRecord, accountKind } from './identity.ts'

/** The account, or the nearest one above it, that is disabled: with it everybody below is. */
export const disabledOf = async (records: Records, account: AccountRecord): Promise<string | undefined> => {
  if (!account.hidden.enabled) return account.id
  for (const id of account.hidden.tree.toReversed()) {
    const above = await records.find(id, accountKind, id)
    if (above?.hidden.enabled === false) return id
  }
  return undefined
}

/** Tokens of a disabled account, and of those below it, end with it, not at their `exp`; nobody signs in there. */
export const assertInService = async (records: Records, account: AccountRecord) => {
  const cause = await disabledOf(records, account)
  if (cause === undefined) return
  throw failure('validation_error', {
    problems: { account: { disabled: { message: 'account disabled', cause } } },
  })
}
