import { taken } from '../../../lib/failure.ts'
import { searchKey } from '../../../lib/search-key.ts'
import { type Claim, conflict, systemScope } from '../../../storage/change-set.ts'
import { createCollection, type StoredClaim } from '../../../storage/collection.ts'
import { type StoredRecord, sortKeyOf } from '../../../storage/records.ts'
import type { Store } from '../../../storage/store.ts'
import { type UniqueName, uniqueClaims } from '../../records.ts'
import { type DeviceDoc, featuresOf, sipAddressOf, sipIdentityOf, standardType } from './rules.ts'

export type DeviceRecord = StoredRecord<DeviceDoc, object>

// Maximum number of phones that ring for one user.
export const maxReaching = 500

export const usernameTaken = (username: string) =>
  taken('sip.username', 'SIP credentials already in use', username)

// Scoped to the account, not to its realm, so that devices are found after the realm changes.
export const usernameClaim = (accountId: string, username: string): Claim => ({
  scope: accountId,
  name: 'sip_username',
  value: username.toLowerCase(),
})

/** For a device with its own realm; unique in the system. */
export const identityClaim = (username: string, realm: string): Claim => ({
  scope: systemScope,
  name: 'sip_identity',
  // Both may contain any character.
  value: JSON.stringify([realm.toLowerCase(), username.toLowerCase()]),
})

const identitiesUnder = (realm: string) => {
  const { scope, name, value } = identityClaim('', realm)
  return { scope, name, prefix: value.slice(0, -'"]'.length) }
}

export const addressClaim = (value: string) => ({ scope: systemScope, name: 'sip_ip', value })

/** Names that must be unique. */
export const uniqueNamesOf = (accountId: string, doc: Partial<DeviceDoc>): UniqueName[] => {
  const { mac_address: mac } = doc
  const { username, realm } = sipIdentityOf(doc) ?? {}
  const address = sipAddressOf(doc)
  const names: UniqueName[] = []
  if (username !== undefined)
    names.push({ claim: usernameClaim(accountId, username), problems: usernameTaken(username) })
  if (username !== undefined && realm !== undefined)
    names.push({ claim: identityClaim(username, realm), problems: usernameTaken(username) })
  if (mac !== undefined)
    names.push({
      claim: { scope: accountId, name: 'mac_address', value: mac },
      problems: taken('mac_address', 'MAC address already in use', mac),
    })
  if (address !== undefined)
    names.push({
      claim: addressClaim(address),
      problems: taken('sip.ip', 'SIP IP already in use', address),
    })
  return names
}

const signedInName = 'hotdesk_user'

// The names of devices and the users who are signed in are not unique, hence the ID at the end: devices are found by the beginning.
const claims = ({ accountId, id, doc }: DeviceRecord): StoredClaim[] => {
  const found = (name: string, value: string) => ({
    scope: accountId,
    name,
    value: `${value}/${id}`,
    orElse: conflict,
  })
  return [
    ...uniqueClaims(uniqueNamesOf(accountId, doc)),
    found('device_name', searchKey(doc.name)),
    ...Object.keys(doc.hotdesk?.users ?? {}).map((userId) => found(signedInName, userId)),
  ]
}

export const createDeviceStore = (store: Store) => {
  const collection = createCollection<DeviceDoc, object>(store, {
    kind: 'device',
    sortKey: (doc) => sortKeyOf(doc.name),
    ownerId: (doc) => doc.owner_id ?? '',
    row: (doc) => ({
      name: doc.name,
      username: doc.sip?.username,
      mac_address: doc.mac_address,
      owner_id: doc.owner_id,
      enabled: doc.enabled,
      device_type: doc.device_type ?? standardType,
      mobile: doc.mobile,
      call_recording: doc.call_recording,
      flags: doc.flags ?? [],
      features: featuresOf(doc),
    }),
    claims,
    counts: (doc) => (doc.enabled === false ? [] : [['devices', doc.device_type ?? standardType]]),
  })

  const { records } = store

  return {
    ...collection,

    async signedIn(accountId: string, userId: string): Promise<string[]> {
      const holders = await records.claimants(accountId, signedInName, `${userId}/`, maxReaching)
      return holders.map(({ id }) => id)
    },

    /** User names under a realm that no account has, also of trunks, in lower case and in batches. */
    async *usernamesUnder(realm: string): AsyncGenerator<string[]> {
      const { scope, name, prefix } = identitiesUnder(realm)
      const limit = 500
      let after: string | undefined
      for (;;) {
        const found = await records.names(scope, name, prefix, limit, after)
        after = found.at(-1)
        if (after !== undefined) yield found.map((value) => JSON.parse(value)[1] as string)
        if (found.length < limit) return
      }
    },

    /** The device with this ID under a realm that no account has. */
    async underRealm(realm: string, id: string): Promise<DeviceRecord | undefined> {
      const { scope, name, prefix } = identitiesUnder(realm)
      const holders = await records.claimants(scope, name, prefix, maxReaching)
      const holder = holders.find((one) => one.id === id)
      return holder && collection.find(holder.accountId, holder.id)
    },
  }
}
