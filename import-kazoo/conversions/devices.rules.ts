import { sipAddressOf, sipIdentityOf, tidy } from '../../src/areas/voice/devices/rules.ts'
import { deviceReadOnly } from '../../src/areas/voice/devices/schema.ts'
import { isObject, type Json } from '../../src/lib/json.ts'
import type { Converted, KazooDocument } from '../documents/document.ts'
import { publicPart, textIn, withRejected } from '../documents/fields.ts'
import { conversionOf, type Notes, nameFrom } from './findings.ts'
import { deviceLimitsIn, withAccessLists } from './packet-limits.rules.ts'
import { isNameLost, type People, type PeopleConversion } from './people-context.rules.ts'

const notTaken = [...deviceReadOnly, 'sync']
const macForm = /^[0-9a-f]{12}$/
const maxShown = 64

const withOwner = (doc: Json, { users, needsHand }: PeopleConversion): Json => {
  const { owner_id: owner, ...others } = doc
  if (owner === undefined || (typeof owner === 'string' && users.has(owner))) return doc
  if (owner !== '' && owner !== null)
    needsHand('owner_gone', { field: 'owner_id', old: String(owner).slice(0, maxShown) })
  return others
}

const withMac = (doc: Json, { hold, needsHand }: PeopleConversion): Json => {
  const { mac_address: mac, ...others } = doc
  if (mac === undefined) return doc
  const isMac = typeof mac === 'string' && macForm.test(mac)
  if (isMac && hold('mac_address', mac)) return doc
  const code = isMac ? 'mac_address_taken' : 'mac_address_invalid'
  needsHand(code, { field: 'mac_address', old: String(mac).slice(0, maxShown) })
  return withRejected(others, { mac_address: mac })
}

/** Devices without a realm follow the account's. If there are several realms, the first one stays. */
const withRealm = (
  doc: Json,
  { realm: ownRealm, storedRealm, needsHand }: Parameters<typeof tidyDevice>[0],
): Json => {
  const { sip } = doc
  if (!isObject(sip) || sip.realm === undefined) return doc
  const { realm: stored, ...others } = sip
  const [realm, ...further]: readonly unknown[] = Array.isArray(stored) ? stored : [stored]
  if (further.length > 0)
    needsHand('sip_realm_several', { field: 'sip.realm', old: further.map(String).join() })
  const own = ['', ownRealm, storedRealm].map((one) => one?.toLowerCase())
  const isOwn = typeof realm !== 'string' || own.includes(realm.toLowerCase())
  return { ...doc, sip: isOwn ? others : { ...others, realm } }
}

/** Lists of keys become objects by position. */
const withKeys = (doc: Json, { repaired }: Notes): Json => {
  const { provision } = doc
  if (!isObject(provision)) return doc
  const keys: Json = {}
  for (const field of ['combo_keys', 'feature_keys']) {
    const listed = provision[field]
    if (!Array.isArray(listed)) continue
    keys[field] = Object.fromEntries(Object.entries(listed).filter(([, key]) => isObject(key)))
    repaired('keys_listed', { field: `provision.${field}` })
  }
  return { ...doc, provision: { ...provision, ...keys } }
}

/** A phone whose name is taken is disabled, and its name is stored as rejected. */
const withFreeName = (doc: Json, conversion: PeopleConversion): Json => {
  const username = sipIdentityOf(doc)?.username
  const [key, code, name] =
    typeof username === 'string'
      ? ['username', 'sip_username_taken', username]
      : ['ip', 'sip_address_taken', sipAddressOf(doc)]
  if (name === undefined) return doc
  const isFree = conversion.hold(`sip_${key}`, key === 'username' ? name.toLowerCase() : name)
  if (isFree && !isNameLost(conversion, doc)) return doc
  conversion.needsHand(code, { field: `sip.${key}`, old: name })
  const { [key]: taken, ...others } = isObject(doc.sip) ? doc.sip : {}
  return withRejected({ ...doc, sip: others, enabled: false }, { [`sip.${key}`]: taken })
}

/** The device before it is compared with others. */
export const tidyDevice = (
  device: Pick<PeopleConversion, 'fields' | 'realm' | 'storedRealm' | 'needsHand'>,
) => withRealm(tidy(publicPart(device.fields, notTaken)), device)

/** The oldest device keeps a name, address or MAC address. */
export const convertDevice = (document: KazooDocument, people: People): Converted => {
  const conversion = conversionOf(document, people)
  const limits = people.packetLimits.get(document.id)
  const given = tidyDevice(conversion)
  const named = { ...given, name: nameFrom(textIn(given, 'name'), document.id, conversion) }
  const keyed = withKeys(withMac(withOwner(named, conversion), conversion), conversion)
  const listed = withAccessLists(keyed, conversion)
  const limited = limits ? { ...listed, rate_limits: deviceLimitsIn(limits) } : listed
  return conversion.imported('device', people.accountId, { doc: withFreeName(limited, conversion) })
}
