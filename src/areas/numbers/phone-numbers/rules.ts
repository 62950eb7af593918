import type { numberStates } from './schema.ts'

export type NumberState = (typeof numberStates)[number]

/** The state of a number that is not stored. */
export const absent = '(none)'
export type StateBefore = NumberState | typeof absent

export type Target = 'in_service' | 'reserved' | 'available' | 'aging' | 'port_in'

/**
 * Who may make a move:
 * - `creator`: the account may create numbers in that state;
 * - `authorised`: the operator, and whoever stands at or above the owner (of a number without owner: the account that
 *   is to get it);
 * - `family`: these, and the accounts below the owner: a reseller's reserve is for its customers;
 * - `anyone`: every account, for itself and the accounts below it.
 */
type Who = 'creator' | 'operator' | 'authorised' | 'family' | 'anyone'

export interface Move {
  who: Who
  /** Ordered from its carrier first. */
  order?: true
  remember?: true
  /** `kept`: only the public fields change. */
  sameOwner?: 'kept' | 'refused'
}

const create = { who: 'creator' } as const

/** From -> to. Absent transitions are invalid. */
export const moves: Readonly<Record<StateBefore, Readonly<Partial<Record<Target, Move>>>>> = {
  [absent]: {
    in_service: create,
    reserved: { who: 'creator', remember: true },
    available: create,
    aging: create,
    port_in: create,
  },
  discovery: {
    in_service: { who: 'authorised', order: true },
    reserved: { who: 'authorised', order: true, remember: true },
  },
  available: {
    in_service: { who: 'anyone' },
    reserved: { who: 'authorised', remember: true },
    available: { who: 'operator' },
    aging: { who: 'operator' },
  },
  aging: {
    in_service: { who: 'anyone' },
    aging: { who: 'operator' },
  },
  port_in: {
    in_service: { who: 'authorised' },
    port_in: { who: 'authorised' },
  },
  reserved: {
    in_service: { who: 'family' },
    reserved: { who: 'authorised', remember: true, sameOwner: 'refused' },
  },
  in_service: {
    in_service: { who: 'authorised', sameOwner: 'kept' },
    reserved: { who: 'authorised', remember: true },
  },
  released: { aging: { who: 'operator' } },
  port_out: {},
  deleted: {},
}

/** States of numbers that PUT takes over. Others already exist. */
export const takenOverByCreation: ReadonlySet<NumberState> = new Set(['aging', 'available', 'port_in'])

/** Carrier of numbers of mobile devices. */
export const mobileCarrier = 'knm_mdn'
const localCarrier = 'knm_local'

export const isLocal = (carrier: string) => carrier === localCarrier || carrier === mobileCarrier

const releasable: ReadonlySet<NumberState> = new Set(['in_service', 'reserved', 'port_in', 'released'])

/** An available number is already released. */
export const isReleasable = (state: NumberState, carrier: string) =>
  releasable.has(state) || (carrier === localCarrier && state !== 'available')

export interface Rights {
  isOperator: boolean
  /** The account flag `wnm_allow_additions`. */
  allowsAdditions: boolean
}

/** `usable_creation_states` of `carriers_info`. */
export const creationStates = ({ isOperator, allowsAdditions }: Rights): readonly Target[] => {
  if (isOperator) return ['aging', 'available', 'in_service', 'port_in', 'reserved']
  return allowsAdditions ? ['in_service', 'reserved'] : []
}

/** Why an account may not create a number in a state. Every account may create ports. */
export const creationRefusal = (accountId: string, state: string, rights: Rights): string | undefined => {
  if (state === 'port_in') return undefined
  const states: readonly string[] = creationStates(rights)
  if (states.includes(state)) return undefined
  return changeRefusal(accountId, rights, 'create') ?? `creating number in state '${state}' is not allowed`
}

/** Why an account may neither change numbers nor take over existing ones. */
export const changeRefusal = (
  accountId: string,
  { isOperator, allowsAdditions }: Rights,
  verb: 'change' | 'create',
): string | undefined =>
  isOperator || allowsAdditions ? undefined : `account ${accountId} is not allowed to ${verb} numbers`

export interface CallerRights {
  isOperator: boolean
  isAboveOwner: boolean
  isBelowOwner: boolean
  isAboveTarget: boolean
}

interface Held {
  state: NumberState
  accountId: string
}

const isAuthorised = ({ accountId }: Held, { isOperator, isAboveOwner, isAboveTarget }: CallerRights) =>
  isOperator || (accountId === '' ? isAboveTarget : isAboveOwner)

/** Whether the caller may know that the number exists. */
export const maySee = (number: Held, standing: CallerRights) =>
  number.state === 'available' ||
  isAuthorised(number, standing) ||
  (number.state === 'reserved' && standing.isBelowOwner)

export const mayMove = (who: Exclude<Who, 'creator'>, number: Held, standing: CallerRights) => {
  if (who === 'operator') return standing.isOperator
  if (isAuthorised(number, standing)) return true
  return who === 'anyone' || (who === 'family' && standing.isBelowOwner)
}

export const remembered = (history: readonly string[], accountId: string) =>
  history[0] === accountId ? [...history] : [accountId, ...history]

interface ReleaseSettings {
  released_state: NumberState
  should_age: boolean
  should_permanently_delete: boolean
}

type Release =
  | { outcome: 'returned'; accountId: string; history: string[] }
  | { outcome: 'removed' }
  | { outcome: 'freed'; state: NumberState }

/** To an earlier holder, out of the inventory, or back into it. */
export const releaseOf = (
  carrier: string,
  /** Earlier holders that still exist, the latest first. */
  earlier: readonly string[],
  { released_state: released, should_age, should_permanently_delete }: ReleaseSettings,
): Release => {
  const [previous] = earlier
  if (previous !== undefined) return { outcome: 'returned', accountId: previous, history: [...earlier] }
  if (should_permanently_delete || carrier === mobileCarrier) return { outcome: 'removed' }
  return { outcome: 'freed', state: should_age && released === 'available' ? 'aging' : released }
}

/** Fields of a request that are not stored. */
const notStored = [
  'id',
  'state',
  'used_by',
  'features',
  'create_with_state',
  'carrier_name',
  'features_allowed',
  'features_denied',
]

/** The tie to a mobile device stays. */
export const publicFields = (
  sent: Readonly<Record<string, unknown>>,
  kept: { mobile?: unknown },
): Record<string, unknown> => {
  const fields: Record<string, unknown> = { ...sent }
  for (const key of notStored) delete fields[key]
  if (kept.mobile !== undefined) fields.mobile = kept.mobile
  return fields
}

/** Accounts that had reserved the number before its owner, the latest first. */
export const earlierHolders = (history: readonly string[], ownerId: string) => {
  const first = history.findIndex((accountId) => accountId !== ownerId)
  return first < 0 ? [] : history.slice(first)
}
