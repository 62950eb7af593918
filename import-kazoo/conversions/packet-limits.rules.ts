import { accessListProblems } from '../../src/lib/access-list.ts'
import { isObject, type Json } from '../../src/lib/json.ts'
import { pathOf } from '../../src/lib/property-path.ts'
import { accountDatabase } from '../documents/database-names.ts'
import type { Converted, KazooDocument } from '../documents/document.ts'
import { derivedId, publicPart, textIn, timesOf, withoutPlaces } from '../documents/fields.ts'
import { type ExportedDocument, exported, type OwnRecord } from '../export/document.ts'
import { converted, imported, leftOut, type Notes, unconverted } from './findings.ts'
import type { People } from './people-context.rules.ts'

const shown = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value)).slice(0, 256)

const isValid = (list: { cidrs: string[] } | { user_agent: string }) =>
  Object.keys(accessListProblems(list)).length === 0

const isCidr = (value: unknown) => typeof value === 'string' && isValid({ cidrs: [value] })

const isPattern = (value: unknown) => typeof value === 'string' && isValid({ user_agent: value })

/** Removes invalid subnets and patterns of an access list: Kazoo accepts any text. */
export const withAccessLists = (doc: Json, { needsHand }: Notes): Json => {
  const { access_lists: lists } = doc
  if (!isObject(lists)) return doc
  const { cidrs, user_agent: pattern } = lists
  const bad = Array.isArray(cidrs) ? [...cidrs.keys()].filter((index) => !isCidr(cidrs[index])) : []
  const { rest, removed } = withoutPlaces(doc, [
    ...bad.map((index) => ['access_lists', 'cidrs', String(index)]),
    ...(pattern === undefined || isPattern(pattern) ? [] : [['access_lists', 'user_agent']]),
  ])
  const inOrder = removed.toSorted((one, other) => (pathOf(one.place) < pathOf(other.place) ? -1 : 1))
  for (const { place, value } of inOrder) {
    const code = place[1] === 'cidrs' ? 'cidr_invalid' : 'pattern_invalid'
    needsHand(code, { field: pathOf(place.slice(0, 2)), old: shown(value) })
  }
  return rest
}

const limitedOwner = ({ fields }: KazooDocument) => textIn(fields, 'pvt_owner_id')

const oldestFirst = (one: KazooDocument, other: KazooDocument) =>
  timesOf(one.fields).modified - timesOf(other.fields).modified || (one.id < other.id ? -1 : 1)

/** The latest document for each owner. */
export const latestLimits = (documents: readonly KazooDocument[]): Map<string, KazooDocument> =>
  new Map(
    documents.toSorted(oldestFirst).flatMap((document) => {
      const owner = limitedOwner(document)
      return owner === undefined ? [] : [[owner, document] as const]
    }),
  )

/** Limits of a device may be nested under `device`. */
export const deviceLimitsIn = ({ fields }: KazooDocument): Json => {
  const { device, account: _, ...own } = publicPart(fields, ['id'])
  return isObject(device) ? device : own
}

/** Limits of devices become part of the devices. */
export const convertPacketLimits = (
  document: KazooDocument,
  { accountId, devices, packetLimits }: People,
): Converted => {
  const owner = limitedOwner(document) ?? ''
  const field = 'pvt_owner_id'
  const isAccount = owner === accountId
  if (!isAccount && !devices.has(owner)) return leftOut(document, 'owner_gone', { field, old: owner })
  const latest = packetLimits.get(owner)
  if (latest && latest !== document)
    return unconverted(document, 'skipped', 'repaired', 'limits_twice', {
      field,
      old: document.id,
      new: latest.id,
    })
  if (!isAccount) return converted(document, 'imported')
  const doc = publicPart(document.fields, ['id'])
  return imported(document, 'packet_limits', accountId, { id: accountId, doc })
}

export const exportPacketLimits = (
  record: OwnRecord,
  ownerType: 'accounts' | 'devices',
  limits: unknown,
): ExportedDocument[] => {
  if (!isObject(limits)) return []
  const id = derivedId(accountDatabase(record.accountId), record.id, 'rate_limits')
  const more = { pvt_owner_id: record.id, pvt_owner_type: ownerType }
  return [exported('rate_limits', record, { id, fields: limits, more })]
}
