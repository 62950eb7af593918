import { domainOf } from '../../src/areas/brand/whitelabel/rules.ts'
import { sipAddressOf, sipIdentityOf } from '../../src/areas/voice/devices/rules.ts'
import type { Json } from '../../src/lib/json.ts'
import type { KazooDocument } from '../documents/document.ts'
import { textIn, timesOf } from '../documents/fields.ts'

// Names that only one account may have: domains, addresses of phones without a password, SIP identities
// under a custom realm. They are gathered from all accounts first.

export interface SharedName {
  kind: 'domain' | 'sip_ip' | 'sip_identity'
  value: string
  accountId: string
  id: string
  created: number
}

const keyOfLost = ({ kind, value, accountId, id }: Omit<SharedName, 'created'>) =>
  JSON.stringify([kind, value, accountId, id])

export const sharedNamesOf = (document: KazooDocument, doc: Json, accountId: string): SharedName[] => {
  const claim = (kind: SharedName['kind'], value: string | undefined): SharedName[] =>
    value === undefined
      ? []
      : [{ kind, value, accountId, id: document.id, created: timesOf(document.fields).created }]
  if (document.type === 'whitelabel')
    return claim('domain', domainOf({ domain: textIn(doc, 'domain') ?? '' }))
  const identity = sipIdentityOf(doc)
  if (typeof identity?.username === 'string' && typeof identity.realm === 'string')
    return claim('sip_identity', JSON.stringify([identity.realm, identity.username]).toLowerCase())
  const address = sipAddressOf(doc)
  return claim('sip_ip', typeof address === 'string' ? address : undefined)
}

export const isNameLost = (
  document: KazooDocument,
  doc: Json,
  { accountId, lost }: { accountId: string; lost: ReadonlySet<string> },
) => sharedNamesOf(document, doc, accountId).some((name) => lost.has(keyOfLost(name)))

const isOlder = (one: SharedName, other: SharedName) =>
  one.created - other.created || (one.accountId + one.id < other.accountId + other.id ? -1 : 1)

/** The oldest holder keeps a name; returns the keys of all others. */
export const lostNames = (names: Iterable<SharedName>): Set<string> => {
  const holders = new Map<string, SharedName>()
  const lost = new Set<string>()
  for (const name of names) {
    const key = `${name.kind} ${name.value}`
    const holder = holders.get(key)
    if (holder && isOlder(holder, name) < 0) lost.add(keyOfLost(name))
    else {
      if (holder) lost.add(keyOfLost(holder))
      holders.set(key, name)
    }
  }
  return lost
}
