import { accountExpired, failure, validationError } from '../lib/failure.ts'
import { gregorianNow } from '../lib/gregorian.ts'
import type { Records } from '../storage/records.ts'
import type { Store } from '../storage/store.ts'
import { type AccountRecord, accountKind } from './identity.ts'

/** The account and those above it, the nearest first. */
async function* upwards(records: Records, account: AccountRecord) {
  yield account
  for (const id of account.hidden.tree.toReversed()) {
    const above = await records.find(id, accountKind, id)
    if (above) yield above
  }
}

/** The account, or the nearest one above it, that is disabled: with it everybody below is. */
export const disabledOf = async (records: Records, account: AccountRecord): Promise<string | undefined> => {
  for await (const { id, hidden } of upwards(records, account)) if (!hidden.enabled) return id
  return undefined
}

/** Gregorian seconds at which the first of the trials of an account and those above it ends; without any: never. */
const trialEnd = async (records: Records, account: AccountRecord): Promise<number> => {
  const ends: number[] = []
  for await (const { hidden } of upwards(records, account)) ends.push(hidden.trialExpires ?? Infinity)
  return Math.min(...ends)
}

type Place = Pick<Store, 'records' | 'clock'>

/** Whether people and programs of an account are let in. */
export const isInService = async ({ records, clock }: Place, account: AccountRecord): Promise<boolean> =>
  (await disabledOf(records, account)) === undefined &&
  (await trialEnd(records, account)) > gregorianNow(clock)

/**
 * Tokens of a disabled account, of one whose trial has ended, and of those below them, end with it, not at their `exp`;
 * nobody signs in there. Answers until when that holds at most, in Gregorian seconds: a trial ends without any change.
 */
export const assertInService = async ({ records, clock }: Place, account: AccountRecord): Promise<number> => {
  const cause = await disabledOf(records, account)
  if (cause !== undefined) {
    throw failure(validationError, {
      problems: { account: { disabled: { message: 'account disabled', cause } } },
    })
  }
  const end = await trialEnd(records, account)
  if (end <= gregorianNow(clock)) throw failure(accountExpired, { accountId: account.id, at: end })
  return end
}
