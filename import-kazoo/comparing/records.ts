import { publicHalf } from '../../src/areas/accounts/accounts/rules.ts'
import type { Importer } from '../../src/areas/adoption.ts'
import { type AccountRecord, accountKind } from '../../src/auth/identity.ts'
import { differencesBetween } from '../../src/lib/differences.ts'
import type { Json } from '../../src/lib/json.ts'
import { inParts, pagesOf } from '../../src/lib/list.ts'
import type { StoredRecord } from '../../src/storage/records.ts'
import { copiesDatabase } from '../conversions/account-tree.rules.ts'
import { convertAccount, type PlannedAccount, treeOf } from '../conversions/accounts.rules.ts'
import { accountDatabase } from '../documents/database-names.ts'
import { readDocument } from '../documents/fields.ts'
import { isRefused } from '../import-run/store.ts'
import { databasesOf } from '../import-sections/section.ts'
import {
  arrivalOf,
  type Comparison,
  chapterNamed,
  compareCounts,
  compareValues,
  convertAgain,
  type ExpectedRecord,
  expectedRecords,
  expectedRecordsOf,
  rowsAtOnce,
  withReason,
  withRows,
} from './comparison.ts'
import { compareOrder, differencesOfRecords, foundIn } from './differences.ts'

/** Unique names by which an account is found. */
const namesOf = ({ nameClaim, realm }: PlannedAccount) => ({
  account_name: nameClaim,
  realm: realm.toLowerCase(),
})

const compareAccount = async (
  comparison: Comparison,
  planned: PlannedAccount,
  { doc, hidden, modified }: AccountRecord,
  names: readonly { name: string; value: string }[] = [],
) => {
  const { plan, source } = comparison.facts
  const found = await source.document(planned.source, planned.id)
  const document = found && readDocument(planned.source, found)
  const [draft] = document ? convertAccount(document, plan).drafts : []
  const wanted = namesOf(planned)
  const foundBy = Object.fromEntries(
    names.flatMap(({ name, value }) => (Object.hasOwn(wanted, name) ? [[name, value]] : [])),
  )
  const there = { is_reseller: planned.isReseller, 'found by': wanted }
  const here = { is_reseller: hidden.isReseller, 'found by': foundBy }
  const place = { account_id: planned.id, question: 'account' }
  // Deleted in Kazoo during the import.
  if (!document || !draft)
    return compareValues(comparison, place, { realm: planned.realm, ...there }, { realm: doc.realm, ...here })
  const expected = await arrivalOf(comparison, { draft, document })
  const differences = [
    ...differencesOfRecords(publicHalf(expected.doc), doc as Json),
    ...differencesBetween({ enabled: draft.facts.enabled, ...there }, { enabled: hidden.enabled, ...here }),
  ]
  // Findings of accounts are stored with their copies.
  const record = { draft, document: { ...document, database: copiesDatabase } }
  comparison.add(place, 1, await withReason(comparison, record, modified, foundIn(differences)))
}

/** Compares records, names and ancestors of accounts. */
export const compareAccounts = async (comparison: Comparison) => {
  const { stored, records, facts, add } = comparison
  for (const ids of inParts(comparison.accountIds, 200)) {
    const [trees, names] = [await stored.trees(ids), await stored.accountNames(ids)]
    for (const id of ids) {
      const planned = facts.plan.accounts.get(id)
      const record = await records.find(id, accountKind, id)
      if (!planned) continue
      if (!record) {
        add({ account_id: id, question: 'account' }, 1, [{ what: 'missing' }])
        continue
      }
      await compareAccount(comparison, planned, record as AccountRecord, names.get(id))
      const tree = treeOf(facts.plan, id).join(' ')
      const own = (record as AccountRecord).hidden.tree
      const above = (trees.get(id) ?? []).map(({ ancestorId }) => ancestorId)
      compareValues(
        comparison,
        { account_id: id, question: 'tree' },
        { tree, 'accounts above it': tree },
        { tree: own.join(' '), 'accounts above it': above.join(' ') },
      )
    }
  }
}

/** No other accounts, and one root. */
export const checkOtherAccounts = async (comparison: Comparison) => {
  const { stored, run, facts, add } = comparison
  for await (const ids of stored.accounts()) {
    const others = ids.filter((id) => !facts.plan.accounts.has(id))
    // Accounts that were deleted in Kazoo during the import are already reported.
    const known = await run.known(copiesDatabase, others)
    const extra = others.filter((id) => !known.has(id)).map((id) => ({ account_id: id, what: 'extra' }))
    add({ question: 'account' }, 0, extra)
  }
  const roots = await stored.rootCount()
  const difference = { what: 'accounts without a parent', there: 1, here: roots }
  add({ question: 'tree' }, 1, roots === 1 ? [] : [difference])
}

const hearsay = 'number_by_hearsay'

export const numberImporters: ReadonlySet<string> = new Set(['number', hearsay])

type Stored = Awaited<ReturnType<Comparison['numbers']['findSeveral']>>

const differencesOf = (
  { draft: { as, accountId, doc, facts } }: ExpectedRecord,
  number: ReturnType<Stored['get']>,
) => {
  if (!number) return [{ what: 'missing' }]
  // The inventory takes precedence over hearsay.
  if (as === hearsay && !number.hidden.isHearsay) return []
  const { hidden, usedBy, ...others } = facts as { hidden: Json; usedBy: string }
  const { accountId: owner, state, carrier } = number
  const expected = { account_id: accountId, ...others, used_by: usedBy, ...hidden }
  const found = { account_id: owner, state, carrier, used_by: number.usedBy, ...number.hidden }
  return foundIn([...differencesOfRecords(doc, number.doc), ...differencesOfRecords(expected, found)])
}

/** Compares owner, state, fields and features. */
const compareAll = async (comparison: Comparison, expected: readonly ExpectedRecord[]) => {
  for (const some of inParts(expected, rowsAtOnce)) {
    const stored = await comparison.numbers.findSeveral(some.map(({ draft }) => draft.id))
    for (const one of some) {
      const { accountId, id } = one.draft
      const place = { ...(accountId === '' ? {} : { account_id: accountId }), question: 'number', id }
      const number = stored.get(id)
      const found = await withReason(comparison, one, number?.modified, differencesOf(one, number))
      comparison.add(place, 1, found)
    }
  }
}

/** Compares the numbers of the compared accounts; `others`: those that only documents of an account name. */
export const compareNumbers = async (comparison: Comparison, others: readonly ExpectedRecord[]) => {
  const { facts, accountIds, stored, sum } = comparison
  const there = new Map(accountIds.map((id) => [id, new Set<string>()]))
  const compareOwned = async (expected: readonly ExpectedRecord[]) => {
    const owned = expected.filter(
      ({ draft: { as, accountId } }) => numberImporters.has(as) && there.has(accountId),
    )
    for (const { draft } of owned) there.get(draft.accountId)?.add(draft.id)
    await compareAll(comparison, owned)
  }
  for (const database of databasesOf(facts, 'numbers'))
    for await (const page of expectedRecords(comparison, 'numbers', database)) await compareOwned(page)
  await compareOwned(others)
  for (const [accountId, ids] of there) {
    const here = await stored.numbersOf(accountId)
    const extra = [...here].filter((id) => !ids.has(id)).map((id) => ({ id, what: 'extra' }))
    comparison.add({ account_id: accountId, question: 'number' }, 0, extra)
    sum('number', ids.size, here.size)
  }
}

/** All numbers are there, and no others. */
export const checkNumbers = async (comparison: Comparison) => {
  const states = new Map<string, number>()
  const chapter = chapterNamed(comparison, 'numbers')
  if (!chapter) return
  const isWhole = await convertAgain(comparison, chapter, async (converted, database) => {
    const all = await withRows(comparison, database, converted)
    const taken = all.filter(({ row }) => !row || !isRefused(row)).map(({ one }) => one)
    const expected = expectedRecordsOf(taken).filter(({ draft }) => draft.as === 'number')
    for (const { draft } of expected) {
      const state = String(draft.facts.state)
      states.set(state, (states.get(state) ?? 0) + 1)
    }
    await compareAll(comparison, expected)
  })
  // A vanished database makes counts useless.
  if (!isWhole) return
  const here = await comparison.stored.numberStates()
  compareCounts(comparison, 'all numbers', (state) => `in state ${state}`, states, here)
}

type Placed = Pick<StoredRecord, 'sortKey' | 'id'>

// Kinds that lists return in the order of their sort keys.
const listed = ['user', 'device', 'callflow', 'group', 'service_plan', 'resource']

// Both engines order texts by bytes.
const inOrder = (one: Placed, other: Placed) =>
  Buffer.compare(Buffer.from(one.sortKey), Buffer.from(other.sortKey)) ||
  Buffer.compare(Buffer.from(one.id), Buffer.from(other.id))

const storedIds = async ({ records }: Comparison, accountId: string, kind: string) => {
  const place = { accountId, kind, limit: rowsAtOnce, descending: false }
  const pages = pagesOf(rowsAtOnce, (last: Placed | undefined) =>
    records.rows({ ...place, ...(last && { after: [last.sortKey, last.id] }) }),
  )
  const found: string[] = []
  for await (const page of pages) found.push(...page.map(({ id }) => id))
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
  comparison.add(place, 1, [
    ...madeHere.map((id) => ({ id, what: 'extra', why: 'made here' })),
    ...(outOfOrder === undefined ? [] : [{ id: outOfOrder, what: 'order' }]),
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
    ? foundIn(differencesOfRecords(expected.doc as Json, stored.doc as Json))
    : [{ what: 'missing' }]
  comparison.add(place, 1, await withReason(comparison, record, stored?.modified, differences))
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
