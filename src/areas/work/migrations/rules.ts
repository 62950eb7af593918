import type { Actor } from '../../../auth/identity.ts'
import { type Problems, valueShown } from '../../../lib/failure.ts'
import { isTrue } from '../../../lib/json.ts'

export interface Reach {
  includesDescendants: boolean
  includesResellers: boolean
}

/** Returns what the client sent by name. */
type Sent = (name: string) => unknown

export const reachIn = (sent: Sent): Reach => ({
  includesDescendants: isTrue(sent('include_descendants')),
  includesResellers: isTrue(sent('include_resellers')),
})

const isSwitch = (value: unknown) =>
  value === undefined || value === null || value === 'true' || value === 'false' || typeof value === 'boolean'

/** Unclear values are rejected: a run on the wrong accounts cannot be undone. */
export const reachProblems = (sent: Sent): Problems => {
  const wrong = ['include_descendants', 'include_resellers'].filter((name) => !isSwitch(sent(name)))
  const message = 'Value must be true or false'
  return Object.fromEntries(
    wrong.map((name) => [name, { type: { message, target: 'boolean', ...valueShown(sent(name)) } }]),
  )
}

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

interface HalfDone {
  accountId: string
  position: string
  changed: number
  problem?: string
}

/** Progress of a run besides its counters. */
export interface Place {
  /** The last account; empty at the start. */
  place: string
  /** Incremented by every commit. */
  turn: number
  /** Gregorian seconds; undefined before the first commit. */
  started?: number
  skipped: number
  changed: number
  halfDone?: HalfDone
}

export const placeIn = (position: string | undefined): Place =>
  position === undefined ? { place: '', turn: 0, skipped: 0, changed: 0 } : JSON.parse(position)
