import type { Actor } from '../../auth/identity.ts'

/** Which accounts a run goes through. */
export interface Reach {
  includesDescendants: boolean
  includesResellers: boolean
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
