import { isObject, type Json } from '../../../src/lib/json.ts'
import type { Converted, KazooDocument } from '../../documents/document.ts'
import { publicPart, textIn, timesOf } from '../../documents/fields.ts'
import { converted, finding } from '../findings.ts'
import { draftOf } from '../owners.ts'

/** Whose limits a document tells. */
export const limitedOwner = ({ fields }: KazooDocument) => textIn(fields, 'pvt_owner_id')

/** Of several documents for one owner the one that was changed last. */
export const latestLimits = (documents: readonly KazooDocument[]): Map<string, KazooDocument> => {
  const latest = new Map<string, KazooDocument>()
  const rank = ({ fields, id }: KazooDocument) => [timesOf(fields).modified, id] as const
  for (const document of documents) {
    const owner = limitedOwner(document)
    if (owner === undefined) continue
    const other = latest.get(owner)
    const [at, id] = rank(document)
    const [otherAt, otherId] = other ? rank(other) : [-1, '']
    if (at > otherAt || (at === otherAt && id > otherId)) latest.set(owner, document)
  }
  return latest
}

/** Those of a device stand by themselves, or under its name. */
export const deviceLimitsIn = ({ fields }: KazooDocument): Json => {
  const { device, account: _, ...own } = publicPart(fields, ['id'])
  return isObject(device) ? device : own
}

/** The packet limits of an account; those of devices are a part of the devices. */
export const convertLimits = (
  document: KazooDocument,
  { accountId, devices }: { accountId: string; devices: ReadonlySet<string> },
  latest: ReadonlyMap<string, KazooDocument>,
): Converted => {
  const owner = limitedOwner(document)
  const isAccount = owner === accountId
  if (owner === undefined || !(isAccount || devices.has(owner))) {
    const told = { field: 'pvt_owner_id', old: owner ?? '' }
    return converted(document, 'skipped', { findings: [finding(document, 'left_out', 'owner_gone', told)] })
  }
  const kept = latest.get(owner)
  if (kept && kept !== document) {
    const told = { field: 'pvt_owner_id', old: document.id, new: kept.id }
    return converted(document, 'skipped', { findings: [finding(document, 'repaired', 'limits_twice', told)] })
  }
  if (!isAccount) return converted(document, 'imported')
  const draft = draftOf(document, 'packet_limits', accountId, { doc: publicPart(document.fields, ['id']) })
  return converted(document, 'imported', { drafts: [{ ...draft, id: accountId }] })
}
