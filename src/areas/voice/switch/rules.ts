import type { Difference } from '../../../lib/differences.ts'
import type { Alert } from '../../events/alerts/schema.ts'

/** The name of all realms at an edge. */
export const everyRealm = '*'

/** The name of a record at an edge. Realms have no slash. */
export const recordName = (id: string) => `record/${id}`

export const everyRecord = recordName('*')

/** A change after which answers of an edge may be stale. */
export interface FollowedChange {
  sequence: number
  accountId: string
  kind: string
  recordId: string
  action: string
  /** Realm of the account, or the device's own realm. Undefined for deleted records. */
  realm: string | undefined
  /** Undefined: created or deleted. */
  changes: readonly Difference[] | undefined
}

/** Fields on which answers depend, by kind. Undefined: all fields. */
const fields: Readonly<Record<string, ReadonlySet<string> | undefined>> = {
  account: new Set(['enabled', 'tree', 'realm', 'access_lists', 'rate_limits']),
  device: new Set(['enabled', 'access_lists', 'rate_limits', 'sip', 'owner_id']),
  user: new Set(['enabled']),
  connectivity: undefined,
  resource: undefined,
}

export const followedKinds = [...Object.keys(fields), 'system_config']

const followedSettings = 'frontier'

const headOf = ({ path }: Difference) => path.split('.')[0] ?? ''

const headsOf = ({ changes = [] }: FollowedChange) => changes.map(headOf)

/** Whether answers may depend on the change. */
export const isFollowed = (change: FollowedChange) => {
  const { kind, recordId, action, changes } = change
  if (kind === 'system_config') return recordId === followedSettings
  const followed = fields[kind]
  // A new user owns nothing.
  if (kind === 'user' && action === 'created') return false
  return changes === undefined || followed === undefined || headsOf(change).some((head) => followed.has(head))
}

// Fields of accounts that also apply below.
const inherited = new Set(['enabled', 'tree', 'rate_limits'])

export const isInherited = (change: FollowedChange) =>
  change.kind === 'account' && headsOf(change).some((head) => inherited.has(head))

/**
 * Whether the change makes earlier answers that name its record void, also while the server is away. Other
 * stale answers are still used then.
 */
export const isRevoking = (change: FollowedChange) => {
  const { kind, action, changes } = change
  if (action === 'created' || isOfSystem(change)) return false
  return (
    changes === undefined ||
    headsOf(change).some((head) => fields[kind]?.has(head) !== false && head !== 'rate_limits')
  )
}

const realmPath: Readonly<Record<string, string>> = { account: 'realm', device: 'sip.realm' }

const isOfSystem = ({ kind }: FollowedChange) => kind === 'system_config' || kind === 'resource'

/** Whether it may apply in any realm: settings, carriers, and deleted accounts, whose realm is unknown. */
export const isOfAll = (change: FollowedChange) =>
  isOfSystem(change) || (change.kind === 'account' && change.action === 'deleted')

/** Its realm before and after. */
export const realmsIn = ({ kind, realm, changes = [] }: FollowedChange): string[] => {
  const before = changes.find(({ path }) => path === realmPath[kind])?.from
  return [realm, typeof before === 'string' ? before : undefined]
    .filter((one) => one !== undefined)
    .map((one) => one.toLowerCase())
}

// Edges store 32-bit numbers.
const largest = 2 ** 31 - 1

/** A place in the feed as an edge stores it: different for each change, and never 0, which means none. */
export const generationOf = (sequence: number) => (sequence % largest) + 1

/** The cause of an alert about an edge. */
export const edgeCause = (host: string) => `sip_edge/${host}`

export const edgeAlert = (host: string, reason: string, masterId: string): Alert => ({
  title: 'A SIP edge cannot be reached',
  message: `${host} is not notified of changes and does not respond: ${reason}`,
  category: 'sip_edge',
  from: [{ type: 'account', value: masterId }],
  to: [{ type: masterId, value: 'admins' }],
})
