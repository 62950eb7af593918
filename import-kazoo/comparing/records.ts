import { publicHalf } from '../../src/areas/accounts/accounts/rules.ts'
import type { Importer } from '../../src/areas/adoption.ts'
import { costsOf, interactionOf } from '../../src/areas/calls/cdrs/intake/rules.ts'
import type { Numbers } from '../../src/areas/numbers/phone-numbers/operations.ts'
import { accountKind } from '../../src/auth/identity.ts'
import { differencesBetween } from '../../src/lib/differences.ts'
import { type Json, present } from '../../src/lib/json.ts'
import type { StoredRecord } from '../../src/storage/records.ts'
import type { Store } from '../../src/storage/store.ts'
import { convertAccount, treeOf } from '../conversions/accounts.rules.ts'
import { type CallSums, joinSums, monthOfLeg, noSums, sumsOf } from '../conversions/call-import.ts'
import { closeBook, convertMoney, emptyBook, isMoney } from '../conversions/ledgers.rules.ts'
import { accountDatabase } from '../documents/database-names.ts'
import { readDocument } from '../documents/fields.ts'
import { inPages, inParts } from '../import-run/at-once.ts'
import { type MonthPlace, monthOf } from '../import-run/months.ts'
import { legsIn } from '../import-run/reading.ts'
import { databasesOf } from '../import-sections/section.ts'
import type { CheckedStore } from '../report/store.ts'
import { compareOrder, differencesOfRecords } from './differences.ts'
import {
  type ComparisonRun,
  differencesAt,
  type ExpectedRecord,
  type ExpectedRecords,
} from './expected-records.ts'

interface Deps {
  store: Pick<Store, 'records'>
  adoptions: Readonly<Record<string, Importer>>
  drawings: ExpectedRecords
}

type Placed = Pick<StoredRecord, 'sortKey' | 'id'>

// Kinds that lists return in the order of their sort keys.
const listed = ['user', 'device', 'callflow', 'group', 'service_plan', 'resource']

const rowsAtOnce = 500

// Both engines order texts by bytes.
const inOrder = (one: Placed, other: Placed) =>
  Buffer.compare(Buffer.from(one.sortKey), Buffer.from(other.sortKey)) ||
  Buffer.compare(Buffer.from(one.id), Buffer.from(other.id))

export const createRecordComparison = ({ store: { records }, adoptions, drawings }: Deps) => {
  const { arrivalOf, withReason } = drawings

  const storedIds = async (accountId: string, kind: string) => {
    const place = { accountId, kind, limit: rowsAtOnce, descending: false }
    const read = (after: readonly [string, string] | undefined) =>
      records.rows({ ...place, ...present({ after }) })
    const found: string[] = []
    for await (const page of inPages(
      rowsAtOnce,
      undefined,
      read,
      ({ sortKey, id }) => [sortKey, id] as const,
    ))
      found.push(...page.map(({ id }) => id))
    return found
  }

  const compareOne = async (
    { add }: ComparisonRun,
    drawing: ExpectedRecord,
    drawn: NonNullable<Importer['drawn']>,
  ) => {
    const { as, accountId, id } = drawing.draft
    const { expected, stored } = await drawn(await arrivalOf(drawing))
    const place = { account_id: accountId, question: as, id }
    const told = stored
      ? differencesAt(place, differencesOfRecords(expected.doc as Json, stored.doc as Json))
      : [{ ...place, what: 'missing' }]
    add(as, 1, await withReason(drawing, stored?.modified, told))
    return expected
  }

  /** The admin of the first start is a user of the master account. */
  const isOfFirstStart = async (
    { facts, begun }: ComparisonRun,
    accountId: string,
    kind: string,
    id: string,
  ) => {
    if (accountId !== facts.masterId || kind !== 'user' || begun === undefined) return false
    const record = await records.find(accountId, kind, id)
    return record !== undefined && record.created <= begun
  }

  const compareList = async (
    look: ComparisonRun,
    accountId: string,
    kind: string,
    expected: readonly Placed[],
  ) => {
    const idsThere = expected.toSorted(inOrder).map(({ id }) => id)
    const idsHere = await storedIds(accountId, kind)
    const { extra, outOfOrder } = compareOrder(idsThere, idsHere)
    const madeHere: string[] = []
    for (const id of extra) if (!(await isOfFirstStart(look, accountId, kind, id))) madeHere.push(id)
    const place = { account_id: accountId, question: `${kind}, in order` }
    look.add(place.question, 1, [
      ...madeHere.map((id) => ({ ...place, id, what: 'extra', why: 'made here' })),
      ...(outOfOrder === undefined ? [] : [{ ...place, id: outOfOrder, what: 'order' }]),
    ])
    look.sum(kind, idsThere.length, idsHere.length - extra.length + madeHere.length)
  }

  const servicesOf = async ({ facts }: ComparisonRun, accountId: string): Promise<ExpectedRecord[]> => {
    if (!facts.kinds.has('services')) return []
    const found = await facts.source.document('services', accountId)
    return found ? drawings.ofDocument('services', facts, readDocument('services', found)) : []
  }

  return async (look: ComparisonRun, accountId: string): Promise<readonly ExpectedRecord[]> => {
    const all: ExpectedRecord[] = []
    for await (const page of drawings.pages('account documents', look.facts, accountDatabase(accountId)))
      all.push(...page.filter(({ draft }) => draft.accountId === accountId))
    const expected = new Map<string, Placed[]>(listed.map((kind) => [kind, []]))
    for (const drawing of [...all, ...(await servicesOf(look, accountId))]) {
      const { drawn } = adoptions[drawing.draft.as] ?? {}
      const record = drawn && (await compareOne(look, drawing, drawn))
      if (record) expected.get(record.kind)?.push(record)
    }
    for (const [kind, records] of expected) await compareList(look, accountId, kind, records)
    return all.filter(({ draft }) => adoptions[draft.as]?.drawn === undefined)
  }
}

export const createAccountComparison =
  ({ records }: Pick<Store, 'records'>, { arrivalOf, withReason }: ExpectedRecords) =>
  async ({ facts: { plan, source }, add, addValue }: ComparisonRun, accountId: string) => {
    const planned = plan.accounts.get(accountId)
    const found = planned && (await source.document(planned.source, accountId))
    if (!planned || !found) return
    const document = readDocument(planned.source, found)
    const [draft] = convertAccount(document, plan).drafts
    if (!draft) return
    const place = { account_id: accountId, question: 'account' }
    const stored = await records.find(accountId, accountKind, accountId)
    if (!stored) return add('account', 1, [{ ...place, what: 'missing' }])
    const { doc, hidden, modified } = stored
    const expected = await arrivalOf({ draft, document })
    const differences = [
      ...differencesOfRecords(publicHalf(expected.doc), doc as Json),
      ...differencesBetween(
        { enabled: draft.facts.enabled, is_reseller: planned.isReseller },
        { enabled: hidden.enabled, is_reseller: hidden.isReseller },
      ),
    ]
    add('account', 1, await withReason({ draft, document }, modified, differencesAt(place, differences)))
    const ofTree = { account_id: accountId, question: 'tree', what: 'tree' }
    addValue(ofTree, treeOf(plan, accountId).join(), hidden.tree.join())
  }

interface NumberComparisonDeps {
  numbers: Pick<Numbers['store'], 'findSeveral'>
  checked: CheckedStore
  drawings: ExpectedRecords
}

type StoredNumbers = Awaited<ReturnType<Numbers['store']['findSeveral']>>

const hearsay = 'number_by_hearsay'
const isNumber = ({ draft }: ExpectedRecord) => draft.as === 'number' || draft.as === hearsay

/** Compares owner, state, fields and features of numbers. */
export const createNumberComparison = ({ numbers, checked, drawings }: NumberComparisonDeps) => {
  const compareOne = async (drawing: ExpectedRecord, stored: StoredNumbers) => {
    const { as, accountId, id, doc, facts } = drawing.draft
    const number = stored.get(id)
    const place = { account_id: accountId, question: 'number', id }
    if (!number) return drawings.withReason(drawing, undefined, [{ ...place, what: 'missing' }])
    // The inventory takes precedence over hearsay.
    if (as === hearsay && !number.hidden.isHearsay) return []
    const { hidden, usedBy, ...others } = facts as { hidden: Json; usedBy: string }
    const { accountId: owner, state, carrier } = number
    const expected = { account_id: accountId, ...others, used_by: usedBy, ...hidden }
    const found = { account_id: owner, state, carrier, used_by: number.usedBy, ...number.hidden }
    const differences = [...differencesOfRecords(doc, number.doc), ...differencesOfRecords(expected, found)]
    return drawings.withReason(drawing, number.modified, differencesAt(place, differences))
  }

  return {
    async ofAccounts({ facts }: ComparisonRun, accountIds: readonly string[]) {
      const found = new Map<string, ExpectedRecord[]>(accountIds.map((id) => [id, []]))
      for (const database of databasesOf(facts, 'numbers'))
        for await (const page of drawings.pages('numbers', facts, database))
          for (const drawing of page.filter(isNumber)) found.get(drawing.draft.accountId)?.push(drawing)
      return found
    },

    async compare({ add, sum }: ComparisonRun, accountId: string, all: readonly ExpectedRecord[]) {
      const ofNumbers = all.filter(isNumber)
      for (const some of inParts(ofNumbers)) {
        const stored = await numbers.findSeveral(some.map(({ draft }) => draft.id))
        for (const drawing of some) add('number', 1, await compareOne(drawing, stored))
      }
      const there = new Set(ofNumbers.map(({ draft }) => draft.id))
      const here = await checked.numbersOf(accountId)
      const extra = [...here].filter((id) => !there.has(id))
      const told = extra.map((id) => ({ account_id: accountId, question: 'number', id, what: 'extra' }))
      add('number', 0, told)
      sum('number', there.size, here.size)
    },
  }
}

export const createMonthComparison = (checked: CheckedStore) => {
  const bookOf = async ({ facts }: ComparisonRun, place: MonthPlace, before: number | undefined) => {
    const month = await monthOf(facts, place, before)
    let book = emptyBook
    for await (const { documents } of facts.source.pages(place.database))
      for (const document of documents.map((one) => readDocument(place.database, one)).filter(isMoney))
        ({ book } = convertMoney(document, month, book))
    return { moved: book.moved, units: closeBook(book, place.database, month).units }
  }

  const compareBooks = async (look: ComparisonRun, accountId: string, months: readonly MonthPlace[]) => {
    let before: number | undefined
    for (const place of months) {
      const { moved: there, units } = await bookOf(look, place, before)
      const { moved: here } = await checked.booked(accountId, Number(place.month))
      const asked = { account_id: accountId, question: 'ledger of a month', id: place.month, what: 'units' }
      look.addValue(asked, there, here)
      look.sum('units moved', there, here)
      before = units
    }
    const [there, here] = [before ?? 0, await checked.balance(accountId)]
    look.addValue({ account_id: accountId, question: 'balance', what: 'units' }, there, here)
    look.sum('units of balances', there, here)
  }

  const compareCalls = async (look: ComparisonRun, accountId: string, months: readonly MonthPlace[]) => {
    let there: CallSums = {}
    // Months with calls that name no interaction: it depends on the other imported calls.
    const loose = new Set<string>()
    for (const place of months)
      for await (const legs of legsIn(look.facts.source, place)) {
        for (const { id, namesInteraction } of legs) if (!namesInteraction) loose.add(monthOfLeg(id))
        const measured = legs.map(({ id, leg: { record } }) => {
          const interaction_time = interactionOf(record).time
          return { ...record, ...costsOf(record), interaction_time, id }
        })
        there = joinSums(there, sumsOf(measured))
      }
    const here = await checked.called(accountId)
    for (const month of [...new Set([...Object.keys(there), ...here.keys()])].sort()) {
      const [one, other] = [there[month] ?? noSums, here.get(month) ?? noSums]
      const asked = { account_id: accountId, question: 'calls of a month', id: month }
      const differences = differencesBetween({ ...one }, { ...other })
      const compared = differences.filter(({ path }) => path !== 'begun' || !loose.has(month))
      look.add(asked.question, 1, differencesAt(asked, compared))
      look.sum('call records', one.count, other.count)
      look.sum('seconds of calls', one.duration, other.duration)
      look.sum('billed seconds', one.billing, other.billing)
      look.sum('units of calls', one.cost, other.cost)
    }
  }

  return async (look: ComparisonRun, accountId: string, months: readonly MonthPlace[]) => {
    await compareBooks(look, accountId, months)
    if (!look.facts.withoutCalls) await compareCalls(look, accountId, months)
  }
}
