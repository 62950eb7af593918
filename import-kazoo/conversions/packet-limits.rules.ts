import { accessListProblems } from '../../src/lib/access-list.ts'
import { isObject, type Json } from '../../src/lib/json.ts'
import { pathOf } from '../../src/lib/property-path.ts'
import { createRemoval } from '../../src/lib/removal.ts'
import { accountDatabase } from '../documents/database-names.ts'
import type { Converted, KazooDocument } from '../documents/document.ts'
import { derivedId, publicPart, rejectedOf, textIn, timesOf, withRejected } from '../documents/fields.ts'
import { exported, type LeavingDocument, type OwnRecord } from '../export/document.ts'
import { converted, imported, leftOut, type Notes, unconverted } from './findings.ts'

const field = 'access_lists'

const shown = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value)).slice(0, 256)

const isCidr = (value: unknown) =>
  typeof value === 'string' && Object.keys(accessListProblems({ cidrs: [value] })).length === 0

const isPattern = (value: unknown) =>
  typeof value === 'string' && Object.keys(accessListProblems({ user_agent: value })).length === 0

/** Removes invalid subnets and patterns of an access list: Kazoo accepts any text. */
export const withAccessLists = (doc: Json, { needsHand }: Notes): Json => {
  const lists = doc[field]
  if (!isObject(lists)) return doc
  const { cidrs, user_agent: pattern } = lists
  const bad = Array.isArray(cidrs) ? [...cidrs.keys()].filter((index) => !isCidr(cidrs[index])) : []
  const { rest, removed, remove } = createRemoval(doc)
  remove([
    ...bad.map((index) => [field, 'cidrs', String(index)]),
    ...(pattern === undefined || isPattern(pattern) ? [] : [[field, 'user_agent']]),
  ])
  for (const { place, value } of removed.toSorted((one, other) =>
    pathOf(one.place) < pathOf(other.place) ? -1 : 1,
  )) {
    const key = place[1] ?? ''
    const code = key === 'cidrs' ? 'cidr_invalid' : 'pattern_invalid'
    needsHand(code, { field: `${field}.${key}`, old: shown(value) })
  }
  return withRejected(rest, rejectedOf(removed))
}

const limitedOwner = ({ fields }: KazooDocument) => textIn(fields, 'pvt_owner_id')

const isLater = (one: KazooDocument, other: KazooDocument) => {
  const [at, otherAt] = [one, other].map(({ fields }) => timesOf(fields).modified)
  return at === otherAt ? one.id > other.id : (at ?? 0) > (otherAt ?? 0)
}

/** The latest document for each owner. */
export const latestLimits = (documents: readonly KazooDocument[]): Map<string, KazooDocument> => {
  const latest = new Map<string, KazooDocument>()
  for (const document of documents) {
    const owner = limitedOwner(document)
    if (owner === undefined) continue
    const other = latest.get(owner)
    if (!other || isLater(document, other)) latest.set(owner, document)
  }
  return latest
}

/** Limits of a device may be nested under `device`. */
export const deviceLimitsIn = ({ fields }: KazooDocument): Json => {
  const { device, account: _, ...own } = publicPart(fields, ['id'])
  return isObject(device) ? device : own
}

/** Limits of devices become part of the devices. */
export const convertLimits = (
  document: KazooDocument,
  { accountId, devices }: { accountId: string; devices: ReadonlySet<string> },
  latest: ReadonlyMap<string, KazooDocument>,
): Converted => {
  const owner = limitedOwner(document)
  const field = 'pvt_owner_id'
  const isAccount = owner === accountId
  if (owner === undefined || !(isAccount || devices.has(owner)))
    return leftOut(document, 'owner_gone', { field, old: owner ?? '' })
  const kept = latest.get(owner)
  if (kept && kept !== document) {
    const told = { field, old: document.id, new: kept.id }
    return unconverted(document, 'skipped', 'repaired', 'limits_twice', told)
  }
  if (!isAccount) return converted(document, 'imported')
  const doc = publicPart(document.fields, ['id'])
  return imported(document, 'packet_limits', accountId, { id: accountId, doc })
}

export const exportPacketLimits = (
  record: OwnRecord,
  ownerType: 'accounts' | 'devices',
  limits: unknown,
): LeavingDocument[] => {
  if (!isObject(limits)) return []
  const id = derivedId(accountDatabase(record.accountId), record.id, 'rate_limits')
  const more = { pvt_owner_id: record.id, pvt_owner_type: ownerType }
  return [exported('rate_limits', record, { id, fields: limits, more })]
}
