import { accessListProblems } from '../../src/lib/access-list.ts'
import { isObject, type Json } from '../../src/lib/json.ts'
import { pathOf } from '../../src/lib/property-path.ts'
import { accountDatabase } from '../documents/database-names.ts'
import type { Converted, KazooDocument } from '../documents/document.ts'
import { derivedId, inOrder, publicPart, textIn, timesOf, withoutPlaces } from '../documents/fields.ts'
import { type ExportedDocument, exported, type OwnRecord } from '../export/document.ts'
import { converted, leftOut, type Notes, notesOf, unconverted } from './findings.ts'
import type { People } from './people-context.rules.ts'

const isValid = (field: 'cidrs' | 'user_agent', value: unknown) =>
  typeof value === 'string' &&
  Object.keys(accessListProblems({ [field]: field === 'cidrs' ? [value] : value })).length === 0

/** Removes invalid subnets and patterns of an access list: Kazoo accepts any text. */
export const withAccessLists = (doc: Json, { needsHand }: Notes): Json => {
  const { access_lists: lists } = doc
  if (!isObject(lists)) return doc
  const { cidrs, user_agent: pattern } = lists
  const bad = Array.isArray(cidrs) ? [...cidrs.keys()].filter((index) => !isValid('cidrs', cidrs[index])) : []
  const { rest, removed } = withoutPlaces(doc, [
    ...bad.map((index) => ['access_lists', 'cidrs', String(index)]),
    ...(pattern === undefined || isValid('user_agent', pattern) ? [] : [['access_lists', 'user_agent']]),
  ])
  const inOrderOfPath = removed.toSorted((one, other) => (pathOf(one.place) < pathOf(other.place) ? -1 : 1))
  for (const { place, value } of inOrderOfPath) {
    const old = (typeof value === 'string' ? value : JSON.stringify(value)).slice(0, 256)
    const code = place[1] === 'cidrs' ? 'cidr_invalid' : 'pattern_invalid'
    needsHand(code, { field: pathOf(place.slice(0, 2)), old })
  }
  return rest
}

const ownerField = 'pvt_owner_id'

/** The latest document for each owner. */
export const latestLimits = (documents: readonly KazooDocument[]): Map<string, KazooDocument> =>
  new Map(
    inOrder(documents, ({ id, fields }) => [timesOf(fields).modified, id]).flatMap((document) => {
      const owner = textIn(document.fields, ownerField)
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
  const owner = textIn(document.fields, ownerField) ?? ''
  const isAccount = owner === accountId
  if (!isAccount && !devices.has(owner))
    return leftOut(document, 'owner_gone', { field: ownerField, old: owner })
  const latest = packetLimits.get(owner)
  if (latest && latest !== document) {
    const details = { field: ownerField, old: document.id, new: latest.id }
    return unconverted(document, 'skipped', 'repaired', 'limits_twice', details)
  }
  if (!isAccount) return converted(document, 'imported')
  const doc = publicPart(document.fields, ['id'])
  return notesOf(document).imported('packet_limits', accountId, { id: accountId, doc })
}

/** The record without its packet limits, which are a separate document. */
export const exportWithLimits = (
  type: 'account' | 'device',
  record: OwnRecord,
  more: Json = {},
): ExportedDocument[] => {
  const { rate_limits: limits, ...doc } = record.doc
  const own = exported(type, { ...record, doc }, { more })
  if (!isObject(limits)) return [own]
  const id = derivedId(accountDatabase(record.accountId), record.id, 'rate_limits')
  const owner = { [ownerField]: record.id, pvt_owner_type: `${type}s` }
  return [own, exported('rate_limits', record, { id, fields: limits, more: owner })]
}
