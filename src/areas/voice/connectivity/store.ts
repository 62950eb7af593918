import { taken } from '../../../lib/failure.ts'
import { type Claim, conflict } from '../../../storage/change-set.ts'
import { createCollection, type StoredClaim } from '../../../storage/collection.ts'
import { type StoredRecord, sortKeyOf } from '../../../storage/records.ts'
import type { Store } from '../../../storage/store.ts'
import { type UniqueName, uniqueClaims } from '../../records.ts'
import type { SipClaims } from '../devices/operations.ts'
import { addressOf, type ConnectivityDoc, didsOf, userOf } from './rules.ts'
import { Connectivity } from './schema.ts'

export type ConnectivityRecord = StoredRecord<ConnectivityDoc, object>

// Of an account, for a number that changes hands leaves the trunk that it led to.
const didClaim = (accountId: string, value: string): Claim => ({
  scope: accountId,
  name: 'trunk_number',
  value,
})

export const createConnectivityStore = (store: Store, sip: SipClaims) => {
  /** By the account, not its realm, where the realm is its own: servers stay findable when it changes. */
  const userClaim = (accountId: string, user: string, realm: string | undefined) =>
    realm === undefined ? sip.username(accountId, user) : sip.identity(user, realm)

  /** All that nobody else may have, trunk or device, and what the second one is told. */
  const uniqueNamesOf = (accountId: string, doc: ConnectivityDoc): UniqueName[] =>
    (doc.servers ?? []).flatMap((server, index) => {
      const path = `servers.${index}.auth`
      const user = userOf(server)
      const address = addressOf(server)
      const names: UniqueName[] = []
      if (user !== undefined)
        names.push({
          claim: userClaim(accountId, user, doc.account?.auth_realm),
          problems: taken(`${path}.auth_user`, 'SIP credentials already in use', user),
        })
      if (address !== undefined)
        names.push({
          claim: sip.address(address),
          problems: taken(`${path}.ip`, 'SIP IP already in use', address),
        })
      return names
    })

  const claims = ({ accountId, doc }: ConnectivityRecord): StoredClaim[] => [
    ...uniqueClaims(uniqueNamesOf(accountId, doc)),
    // Who comes second is judged again.
    ...didsOf(doc).map(({ number }) => ({ ...didClaim(accountId, number), orElse: conflict })),
  ]

  const collection = createCollection<ConnectivityDoc, object>(store, {
    kind: 'connectivity',
    secrets: () => Connectivity,
    sortKey: ({ name }, id) => sortKeyOf(name ?? id),
    row: ({ name }) => ({ name }),
    claims,
  })

  return {
    ...collection,
    uniqueNamesOf,

    /** The trunks of which one takes the calls of a number of their account. */
    byNumber: (accountId: string, number: string) => collection.holder(didClaim(accountId, number)),

    /** The trunks with a server of this user name, in the account's own realm. */
    byUser: (accountId: string, user: string) => collection.holder(sip.username(accountId, user)),

    /** The trunks with a server of this user name under a realm that is no account's. */
    byIdentity: (user: string, realm: string) => collection.holder(sip.identity(user, realm)),

    /** The trunks with a server that is known by this address. */
    byAddress: (address: string) => collection.holder(sip.address(address)),
  }
}
