import { sequenceText } from '../../../events/events.ts'
import { csvLine } from '../../../lib/csv.ts'
import { type Difference, maskedDifferences } from '../../../lib/differences.ts'
import { gregorianOfUnix, unixOfGregorian } from '../../../lib/gregorian.ts'
import type { Json } from '../../../lib/json.ts'
import { actorOf } from '../../../storage/audit-log.ts'
import { nameOf } from '../../../storage/change-set.ts'
import type { AuditEntry } from './store.ts'

const docIn = (text: string | undefined): Json => (text === undefined ? {} : JSON.parse(text))

/** A record that was created or deleted has no differences. */
const changesOf = ({ changes, beforeDoc, afterDoc }: AuditEntry): readonly Difference[] =>
  changes === undefined ? maskedDifferences(docIn(beforeDoc), docIn(afterDoc)) : JSON.parse(changes)

/** Approximate bytes. */
export const weightOf = ({ changes, beforeDoc, afterDoc }: AuditEntry) =>
  [changes, beforeDoc, afterDoc].reduce((sum, doc) => sum + (doc?.length ?? 0), 0)

const nameIn = ({ recordName, beforeDoc, afterDoc, recordId }: AuditEntry) =>
  recordName ?? nameOf(docIn(afterDoc)) ?? nameOf(docIn(beforeDoc)) ?? recordId

const actorIn = ({ author }: AuditEntry) => {
  const { clientAddress } = author
  return { ...actorOf(author), ...(clientAddress === undefined ? {} : { client_address: clientAddress }) }
}

export const entryJson = (entry: AuditEntry) => ({
  id: entry.id,
  account_id: entry.accountId,
  at: gregorianOfUnix(entry.at / 1000),
  actor: actorIn(entry),
  request_id: entry.author.requestId,
  action: entry.action,
  record: { kind: entry.kind, id: entry.recordId, name: nameIn(entry) },
  changes: changesOf(entry),
  sequence: sequenceText(entry.sequence),
  digest: entry.digest,
  previous_digest: entry.previousDigest ?? null,
})

/** Filters of lists expect the time as `created`. */
export const filterable = (entry: AuditEntry): Json => {
  const shown = entryJson(entry)
  return { ...shown, created: shown.at }
}

const columns = [
  ...['id', 'at', 'actor_type', 'actor_id', 'action', 'kind', 'record_id', 'name', 'request_id'],
  ...['account_id', 'actor_account_id', 'client_address', 'changes', 'sequence', 'digest', 'previous_digest'],
]

export const csvHeader = csvLine(columns)

export const csvLineOf = (entry: AuditEntry) => {
  const { actor, record, ...rest } = entryJson(entry)
  const cells: Json = {
    ...rest,
    actor_type: actor.type,
    actor_id: actor.id,
    actor_account_id: actor.account_id,
    client_address: actor.client_address,
    kind: record.kind,
    record_id: record.id,
    name: record.name,
  }
  return csvLine(columns.map((column) => cells[column]))
}

const unixMs = (gregorianSeconds: number) => unixOfGregorian(gregorianSeconds) * 1000

/** Whole seconds, both included, as bounds in milliseconds. */
export const timeBounds = ({ from, to }: { from?: number | undefined; to?: number | undefined }) => ({
  from: from === undefined ? undefined : unixMs(from),
  to: to === undefined ? undefined : unixMs(to + 1),
})

/** Parent accounts, top first. */
export const treeIn = (text: string) => (text === '' ? [] : text.split(' '))
