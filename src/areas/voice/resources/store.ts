import { conflict, systemScope } from '../../../storage/change-set.ts'
import { createCollection, type StoredClaim } from '../../../storage/collection.ts'
import { type StoredRecord, sortKeyOf } from '../../../storage/records.ts'
import type { Store } from '../../../storage/store.ts'
import { plainHost } from './hosts.rules.ts'
import { carrierHosts, type ResourceDoc } from './rules.ts'

export interface ResourceHidden {
  /** Hosts that the operator has written into an account's carrier: they are not checked. */
  operatorHosts?: readonly string[]
}

export type ResourceRecord = StoredRecord<ResourceDoc, ResourceHidden>

const hostClaimName = 'carrier_host'

const hostsAtOnce = 500

/** Carriers may share a host, so the value ends with the carrier's ID. */
const hostClaims = ({ id, doc }: ResourceRecord): StoredClaim[] =>
  [...new Set(carrierHosts(doc).map(plainHost))].map((host) => ({
    scope: systemScope,
    name: hostClaimName,
    value: `${host}/${id}`,
    orElse: conflict,
  }))

export type ResourceStore = ReturnType<typeof createResourceStore>

/** Carriers of the whole system belong to the system's scope, like its settings. */
export const createResourceStore = (store: Store) => {
  const collection = createCollection<ResourceDoc, ResourceHidden>(store, {
    kind: 'resource',
    sortKey: ({ name }) => sortKeyOf(name),
    row: ({ name, enabled, emergency, weight_cost, classifiers, template_name, flags }) => ({
      name,
      enabled,
      emergency,
      weight_cost,
      classifiers,
      template_name,
      flags: flags ?? [],
    }),
    claims: hostClaims,
  })

  return {
    ...collection,

    /** `host`: in the form of `plainHost`. */
    namesHost: async (host: string) =>
      (await store.records.claimants(systemScope, hostClaimName, `${host}/`, 1)).length > 0,

    async allHosts(): Promise<readonly string[]> {
      const hosts = new Set<string>()
      for (let after = ''; ; ) {
        const found = await store.records.names(systemScope, hostClaimName, '', hostsAtOnce, after)
        for (const value of found) hosts.add(value.slice(0, value.lastIndexOf('/')))
        if (found.length < hostsAtOnce) return [...hosts]
        after = found.at(-1) ?? after
      }
    },
  }
}
