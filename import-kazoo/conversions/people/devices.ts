import { sipAddressOf, sipIdentityOf, tidy } from '../../../src/areas/devices/rules.ts'
import { deviceReadOnly } from '../../../src/areas/devices/schema.ts'
import { isObject, type Json } from '../../../src/lib/json.ts'
import type { Converted, Finding, KazooDocument } from '../../documents/document.ts'
import { publicPart, textIn } from '../../documents/fields.ts'
import { withRejected } from '../../documents/rejected.ts'
import { accessListsIn } from '../access-lists.ts'
import { converted, finding } from '../findings.ts'
import { draftOf } from '../owners.ts'
import type { HoldName, PeopleContext } from './context.ts'
import { keyOfLost, sharedNamesOf } from './shared-names.ts'

/** What is known of the other documents of the account. */
export interface DeviceNeighbours {
  users: ReadonlySet<string>
  /** Packet limits, by the device that they are of. */
  limits: ReadonlyMap<string, Json>
  /** The account's realm as it is stored there: another one may have it here. */
  storedRealm: string | undefined
}

/** A document as one step after the other leaves it. */
interface Step {
  doc: Json
  rejected: Json
  findings: readonly Finding[]
}

type Repair = (step: Step) => Step

const notTaken = [...deviceReadOnly, 'sync']
const longestName = 128

const plus = (step: Step, doc: Json, ...findings: readonly Finding[]): Step => ({
  ...step,
  doc,
  findings: [...step.findings, ...findings],
})

const named =
  (document: KazooDocument): Repair =>
  (step) => {
    const stored = textIn(step.doc, 'name')
    const name = (stored ?? document.id).slice(0, longestName)
    if (name === stored) return step
    const code = stored === undefined ? 'name_missing' : 'name_shortened'
    return plus(step, { ...step.doc, name }, finding(document, 'repaired', code, { field: 'name' }))
  }

const owned =
  (document: KazooDocument, users: ReadonlySet<string>): Repair =>
  (step) => {
    const { owner_id: owner, ...others } = step.doc
    if (owner === undefined || (typeof owner === 'string' && users.has(owner))) return step
    if (owner === '' || owner === null) return { ...step, doc: others }
    const told = { field: 'owner_id', old: String(owner).slice(0, 64) }
    return plus(step, others, finding(document, 'needs_hand', 'owner_gone', told))
  }

const macForm = /^[0-9a-f]{12}$/

const withMac =
  (document: KazooDocument, hold: HoldName): Repair =>
  (step) => {
    const { mac_address: mac, ...others } = step.doc
    if (mac === undefined) return step
    const isMac = typeof mac === 'string' && macForm.test(mac)
    if (isMac && hold('mac_address', mac)) return step
    const told = { field: 'mac_address', old: String(mac).slice(0, 64) }
    const code = isMac ? 'mac_address_taken' : 'mac_address_invalid'
    const rejected = { ...step.rejected, mac_address: mac }
    return plus({ ...step, rejected }, others, finding(document, 'needs_hand', code, told))
  }

const realmIn = (sip: Json) => {
  const { realm } = sip
  const all: readonly unknown[] = Array.isArray(realm) ? realm : [realm]
  return { realm: all[0], others: all.slice(1).map(String) }
}

/** The account's realm is not kept, so that the device follows when that changes. Of several the first one stays. */
const withRealm =
  (document: KazooDocument, accountRealm: string, storedRealm: string | undefined): Repair =>
  (step) => {
    const { sip } = step.doc
    if (!isObject(sip) || sip.realm === undefined) return step
    const { realm, others } = realmIn(sip)
    const { realm: _, ...without } = sip
    const own = [accountRealm, storedRealm].map((one) => one?.toLowerCase())
    const isOwn = typeof realm !== 'string' || realm === '' || own.includes(realm.toLowerCase())
    const doc = { ...step.doc, sip: isOwn ? without : { ...without, realm } }
    if (others.length === 0) return { ...step, doc }
    const told = { field: 'sip.realm', old: others.join() }
    return plus(step, doc, finding(document, 'needs_hand', 'sip_realm_several', told))
  }

const keyFields = ['combo_keys', 'feature_keys']

/** What a key does, by its position: a list says it by its order. */
const withKeys =
  (document: KazooDocument): Repair =>
  (step) => {
    const { provision } = step.doc
    if (!isObject(provision)) return step
    const lists = keyFields.filter((field) => Array.isArray(provision[field]))
    if (lists.length === 0) return step
    const keys = Object.fromEntries(
      lists.map((field) => [
        field,
        Object.fromEntries(Object.entries(provision[field] as object).filter(([, key]) => isObject(key))),
      ]),
    )
    return plus(
      step,
      { ...step.doc, provision: { ...provision, ...keys } },
      ...lists.map((field) => finding(document, 'repaired', 'keys_listed', { field: `provision.${field}` })),
    )
  }

const guarded =
  (document: KazooDocument): Repair =>
  (step) => {
    const { doc, findings } = accessListsIn(document, step.doc)
    return plus(step, doc, ...findings)
  }

/** A phone that is called like another one is switched off, and its name kept beside it. */
const switchedOff = (
  document: KazooDocument,
  step: Step,
  { key, code, old }: { key: string; code: string; old: string },
): Step => {
  const sip = isObject(step.doc.sip) ? step.doc.sip : {}
  const { [key]: taken, ...others } = sip
  const rejected = { ...step.rejected, [`sip.${key}`]: taken }
  const told = { field: `sip.${key}`, old }
  return {
    doc: { ...step.doc, sip: others, enabled: false },
    rejected,
    findings: [...step.findings, finding(document, 'needs_hand', code, told)],
  }
}

const known =
  (document: KazooDocument, { accountId, lost }: PeopleContext, hold: HoldName): Repair =>
  (step) => {
    const identity = sipIdentityOf(step.doc)
    const address = sipAddressOf(step.doc)
    const isLost = sharedNamesOf(document, step.doc, accountId).some((name) => lost.has(keyOfLost(name)))
    if (identity && typeof identity.username === 'string') {
      const { username } = identity
      if (hold('sip_username', username.toLowerCase()) && !isLost) return step
      return switchedOff(document, step, { key: 'username', code: 'sip_username_taken', old: username })
    }
    if (address === undefined || (hold('sip_ip', address) && !isLost)) return step
    return switchedOff(document, step, { key: 'ip', code: 'sip_address_taken', old: String(address) })
  }

const limited =
  (document: KazooDocument, limits: ReadonlyMap<string, Json>): Repair =>
  (step) => {
    const own = limits.get(document.id)
    return own ? { ...step, doc: { ...step.doc, rate_limits: own } } : step
  }

/** What there is of a device before anything of it is judged beside others. */
export const tidyDevice = (
  document: KazooDocument,
  { realm, storedRealm }: { realm: string; storedRealm: string | undefined },
): Step =>
  withRealm(
    document,
    realm,
    storedRealm,
  )({ doc: tidy(publicPart(document.fields, notTaken)), rejected: {}, findings: [] })

/** A device. Who has its name, address or MAC address is the oldest that says so. */
export const convertDevice = (
  document: KazooDocument,
  context: PeopleContext,
  { users, limits, storedRealm }: DeviceNeighbours,
  hold: HoldName,
): Converted => {
  const repairs: readonly Repair[] = [
    named(document),
    owned(document, users),
    withMac(document, hold),
    withKeys(document),
    guarded(document),
    limited(document, limits),
    known(document, context, hold),
  ]
  const start = tidyDevice(document, { realm: context.realm, storedRealm })
  const { doc, rejected, findings } = repairs.reduce((step, repair) => repair(step), start)
  const draft = draftOf(document, 'device', context.accountId, { doc: withRejected(doc, rejected) })
  return converted(document, 'imported', { drafts: [draft], findings })
}
