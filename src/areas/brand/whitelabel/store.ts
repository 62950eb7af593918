import { invalid } from '../../../lib/failure.ts'
import { type Claim, conflict, systemScope } from '../../../storage/change-set.ts'
import { createCollection, type StoredClaim } from '../../../storage/collection.ts'
import type { StoredRecord } from '../../../storage/records.ts'
import type { Store } from '../../../storage/store.ts'
import { hostNameClaim } from '../../accounts/accounts/host-names/rules.ts'
import { conferenceDomainOf, domainOf } from './rules.ts'
import type { Whitelabel } from './schema.ts'

export interface WhitelabelHidden {
  /** Confirmed by the operator: strangers see the brand there without a DNS check. */
  confirmedHosts?: readonly string[]
}

export type WhitelabelStored = StoredRecord<Whitelabel, WhitelabelHidden>

export const whitelabelId = 'whitelabel'

export const domainTaken = (domain: unknown) => ({
  domain: { unique: { message: 'White label domain is already in use', cause: domain } },
})

export const domainClaim = (host: string): Claim => ({
  scope: systemScope,
  name: 'whitelabel_domain',
  value: host,
})

export const conferenceClaimName = 'whitelabel_conference_domain'

/** With the account, as resellers may share the conference host of their operator. */
const conferenceClaim = (host: string, accountId: string): Claim => ({
  scope: systemScope,
  name: conferenceClaimName,
  value: `${host}/${accountId}`,
})

const brandClaims = ({ accountId, doc }: WhitelabelStored): StoredClaim[] => {
  const domain = domainOf(doc)
  const conference = conferenceDomainOf(doc)
  const hostNameClaims = [
    ...(domain ? [hostNameClaim(domain, accountId, 'domain')] : []),
    ...(conference ? [hostNameClaim(conference, accountId, 'conference')] : []),
  ]
  return [
    ...(domain ? [{ ...domainClaim(domain), orElse: () => invalid(domainTaken(doc.domain)) }] : []),
    ...(conference ? [{ ...conferenceClaim(conference, accountId), orElse: conflict }] : []),
    ...hostNameClaims.map((claim) => ({ scope: systemScope, ...claim, orElse: conflict })),
  ]
}

export const createWhitelabelStore = (store: Store) =>
  createCollection<Whitelabel, WhitelabelHidden>(store, {
    kind: 'whitelabel',
    sortKey: () => '',
    row: (doc) => ({ company_name: doc.company_name, domain: doc.domain }),
    claims: brandClaims,
  })
