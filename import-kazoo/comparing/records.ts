import type { Importer } from '../../src/areas/adoption.ts'
import { type Json, present } from '../../src/lib/json.ts'
import type { StoredRecord } from '../../src/storage/records.ts'
import { accountDatabase } from '../documents/database-names.ts'
import { readDocument } from '../documents/fields.ts'
import { inPages } from '../import-run/at-once.ts'
import {
  arrivalOf,
  type Comparison,
  chapterNamed,
  type ExpectedRecord,
  expectedRecords,
  expectedRecordsOf,
  withReason,
} from './comparison.ts'
import { compareOrder, differencesAt, differencesOfRecords } from './differences.ts'
import { numberImporters } from './numbers.ts'

type Placed = Pick<StoredRecord, 'sortKey' | 'id'>

// Kinds that lists return in the order of their sort keys.
const listed = ['user', 'device', 'callflow', 'group', 'service_plan', 'resource']

const rowsAtOnce = 500

// Both engines order texts by bytes.
const inOrder = (one: Placed, other: Placed) =>
  Buffer.compare(Buffer.from(one.sortKey), Buffer.from(other.sortKey)) ||
  Buffer.compare(Buffer.from(one.id), Buffer.from(other.id))

const storedIds = async ({ records }: Comparison, accountId: string, kind: string) => {
  const place = { accountId, kind, limit: rowsAtOnce, descending: false }
  const read = (after: readonly [string, string] | undefined) =>
    records.rows({ ...place, ...present({ after }) })
  const found: string[] = []
  for await (const page of inPages(rowsAtOnce, undefined, read, ({ sortKey, id }) => [sortKey, id] as const))
    found.push(...page.map(({ id }) => id))
  return found
}

/** The admin of the first start is a user of the master account. */
const isOfFirstStart = async (
  { facts, begun, records }: Comparison,
  accountId: string,
  kind: string,
  id: string,
) => {
  if (accountId !== facts.masterId || kind !== 'user' || begun === undefined) return false
  const record = await records.find(accountId, kind, id)
  return record !== undefined && record.created <= begun
}

const compareList = async (
  comparison: Comparison,
  accountId: string,
  kind: string,
  expected: readonly Placed[],
) => {
  const idsThere = expected.toSorted(inOrder).map(({ id }) => id)
  const idsHere = await storedIds(comparison, accountId, kind)
  const { extra, outOfOrder } = compareOrder(idsThere, idsHere)
  const madeHere: string[] = []
  for (const id of extra) if (!(await isOfFirstStart(comparison, accountId, kind, id))) madeHere.push(id)
  const place = { account_id: accountId, question: `${kind}, in order` }
  comparison.add(place.question, 1, [
    ...madeHere.map((id) => ({ ...place, id, what: 'extra', why: 'made here' })),
    ...(outOfOrder === undefined ? [] : [{ ...place, id: outOfOrder, what: 'order' }]),
  ])
  comparison.sum(kind, idsThere.length, idsHere.length - extra.length + madeHere.length)
}

/** Compares a record field by field. */
export const compareRecord = async (
  comparison: Comparison,
  record: ExpectedRecord,
  drawn: NonNullable<Importer['drawn']>,
) => {
  const { as, accountId, id } = record.draft
  const { expected, stored } = await drawn(await arrivalOf(comparison, record))
  const place = { account_id: accountId, question: as, id }
  const differences = stored
    ? differencesAt(place, differencesOfRecords(expected.doc as Json, stored.doc as Json))
    : [{ ...place, what: 'missing' }]
  comparison.add(as, 1, await withReason(comparison, record, stored?.modified, differences))
  return expected
}

const servicesOf = async (comparison: Comparison, accountId: string): Promise<ExpectedRecord[]> => {
  const { facts } = comparison
  const database = 'services'
  const found = facts.kinds.has(database) ? await facts.source.document(database, accountId) : undefined
  const documents = found ? [readDocument(database, found)] : []
  return expectedRecordsOf(
    (await chapterNamed(comparison, database)?.convert(documents, { database, facts })) ?? [],
  )
}

/** Compares records field by field, and lists in their order. Returns the numbers that documents name. */
export const compareRecords = async (comparison: Comparison, accountId: string) => {
  const { adoptions } = comparison
  const all: ExpectedRecord[] = []
  for await (const page of expectedRecords(comparison, 'account documents', accountDatabase(accountId)))
    all.push(...page.filter(({ draft }) => draft.accountId === accountId))
  const lists = new Map<string, Placed[]>(listed.map((kind) => [kind, []]))
  for (const record of [...all, ...(await servicesOf(comparison, accountId))]) {
    const { drawn } = adoptions[record.draft.as] ?? {}
    const expected = drawn && (await compareRecord(comparison, record, drawn))
    if (expected) lists.get(expected.kind)?.push(expected)
  }
  for (const [kind, expected] of lists) await compareList(comparison, accountId, kind, expected)
  return all.filter(({ draft }) => numberImporters.has(draft.as))
}
