import type { Difference } from '../../../lib/differences.ts'
import type { Alert } from '../../events/alerts/schema.ts'

/** What an edge calls that which holds for every realm. */
export const everyRealm = '*'

/** What an edge calls a record on which earlier answers may not depend. Realms have no slash. */
export const recordName = (id: string) => `record/${id}`

export const everyRecord = recordName('*')

/** A change that may have made an answer of an edge stale. */
export interface Change {
  sequence: number
  accountId: string
  kind: string
  recordId: string
  action: string
  /** Realm of the account, or of the device where it has one of its own. What was removed is not told any more. */
  realm: string | undefined
  /** What differs; undefined of what was made or removed. */
  changes: readonly Difference[] | undefined
}

/** Which fields of records an answer to an edge depends on, by kind. Undefined: on every one. */
const fields: Readonly<Record<string, ReadonlySet<string> | undefined>> = {
  account: new Set(['enabled', 'tree', 'realm', 'access_lists', 'rate_limits']),
  device: new Set(['enabled', 'access_lists', 'rate_limits', 'sip', 'owner_id']),
  user: new Set(['enabled']),
  connectivity: undefined,
  resource: undefined,
}

export const followedKinds = [...Object.keys(fields), 'system_config']

/** The settings that answers to edges depend on. */
const followedSettings = 'frontier'

const headOf = ({ path }: Difference) => path.split('.')[0] ?? ''

const headsOf = ({ changes = [] }: Change) => changes.map(headOf)

/** Whether an answer may depend on it. */
export const isFollowed = (change: Change) => {
  const { kind, recordId, action, changes } = change
  if (kind === 'system_config') return recordId === followedSettings
  const followed = fields[kind]
  // Nobody is the owner of anything at first.
  if (kind === 'user' && action === 'created') return false
  return changes === undefined || followed === undefined || headsOf(change).some((head) => followed.has(head))
}

// Fields of accounts that hold for those below, too.
const inherited = new Set(['enabled', 'tree', 'rate_limits'])

/** Whether it may hold for the accounts below as well. */
export const isInherited = (change: Change) =>
  change.kind === 'account' && headsOf(change).some((head) => inherited.has(head))

/**
 * Whether a followed change makes earlier answers that name its record void, also while the server is away. Answers that another
 * change has made stale are still used then.
 */
export const isRevoking = (change: Change) => {
  const { kind, action, changes } = change
  if (action === 'created' || isOfSystem(change)) return false
  return (
    changes === undefined ||
    headsOf(change).some((head) => fields[kind]?.has(head) !== false && head !== 'rate_limits')
  )
}

const realmPath: Readonly<Record<string, string>> = { account: 'realm', device: 'sip.realm' }

const isOfSystem = ({ kind }: Change) => kind === 'system_config' || kind === 'resource'

/** Whether it may hold in any realm: settings, carriers, and accounts of which nothing tells any more what their realm was. */
export const isOfAll = (change: Change) =>
  isOfSystem(change) || (change.kind === 'account' && change.action === 'deleted')

/** The realms that it names by itself: as it is and as it was. */
export const realmsIn = ({ kind, realm, changes = [] }: Change): string[] => {
  const before = changes.find(({ path }) => path === realmPath[kind])?.from
  return [realm, typeof before === 'string' ? before : undefined]
    .filter((one) => one !== undefined)
    .map((one) => one.toLowerCase())
}

// Edges keep numbers of 32 bits.
const largest = 2 ** 31 - 1

/** A place in the feed as edges keep it: another one for each change, and never 0, which would be no word at all. */
export const generationOf = (sequence: number) => (sequence % largest) + 1

/** What operators are told of an edge. */
export const alertOf = (host: string, reason: string, masterId: string): Alert => ({
  title: 'A SIP edge cannot be reached',
  message: `${host} is not told of changes, and cannot be asked: ${reason}`,
  category: 'sip_edge',
  from: [{ type: 'account', value: masterId }],
  to: [{ type: masterId, value: 'admins' }],
})
