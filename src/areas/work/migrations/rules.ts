import type { Actor } from '../../../auth/identity.ts'
import { type Problems, valueShown } from '../../../lib/failure.ts'
import { isTrue } from '../../../lib/json.ts'

/** Which accounts a run goes through. */
export interface Reach {
  includesDescendants: boolean
  includesResellers: boolean
}

/** What a client sent, by name. */
type Sent = (name: string) => unknown

export const reachIn = (sent: Sent): Reach => ({
  includesDescendants: isTrue(sent('include_descendants')),
  includesResellers: isTrue(sent('include_resellers')),
})

const isSwitch = (value: unknown) =>
  value === undefined || value === null || value === 'true' || value === 'false' || typeof value === 'boolean'

/** A run that goes through other accounts than its sender meant cannot be taken back: nothing is guessed. */
export const reachProblems = (sent: Sent): Problems => {
  const wrong = ['include_descendants', 'include_resellers'].filter((name) => !isSwitch(sent(name)))
  const message = 'Value must be true or false'
  return Object.fromEntries(
    wrong.map((name) => [name, { type: { message, target: 'boolean', ...valueShown(sent(name)) } }]),
  )
}

/** Who had a migration performed, in the words of the API. */
export interface Performer {
  auth_account_id?: string
  auth_account_name?: string
  auth_user_id?: string
  auth_user_name?: string
  original_auth_account_id?: string
  original_auth_owner_id?: string
}

export const performerOf = ({ accountId, account, user, claims }: Actor): Performer => ({
  auth_account_id: accountId,
  auth_account_name: account.doc.name,
  ...(user ? { auth_user_id: user.id, auth_user_name: `${user.doc.first_name} ${user.doc.last_name}` } : {}),
  ...(claims?.original_account_id ? { original_auth_account_id: claims.original_account_id } : {}),
  ...(claims?.original_owner_id ? { original_auth_owner_id: claims.original_owner_id } : {}),
})

export const isSameReach = (one: Reach, other: Reach) =>
  one.includesDescendants === other.includesDescendants && one.includesResellers === other.includesResellers

/** The account that a run is in the middle of. */
interface HalfDone {
  accountId: string
  position: string
  changed: number
  problem?: string
}

/** Where a run stands, beside the accounts that were performed or failed. */
export interface Place {
  /** The last account that was passed; empty when there is none yet. */
  place: string
  /** Grows with every commit of the run. */
  turn: number
  /** Gregorian seconds; absent before the first commit. */
  started?: number
  skipped: number
  changed: number
  halfDone?: HalfDone
}

export const placeIn = (position: string | undefined): Place =>
  position === undefined ? { place: '', turn: 0, skipped: 0, changed: 0 } : JSON.parse(position)
