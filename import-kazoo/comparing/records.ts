import { publicHalf } from '../../src/areas/accounts/accounts/rules.ts'
import type { ImportedRecord } from '../../src/areas/adoption.ts'
import { costsOf, interactionOf } from '../../src/areas/calls/cdrs/intake/rules.ts'
import type { Numbers } from '../../src/areas/numbers/phone-numbers/operations.ts'
import { accountKind } from '../../src/auth/identity.ts'
import { differencesBetween } from '../../src/lib/differences.ts'
import type { Json } from '../../src/lib/json.ts'
import type { StoredRecord } from '../../src/storage/records.ts'
import type { Store } from '../../src/storage/store.ts'
import { convertAccount, treeOf } from '../conversions/accounts.rules.ts'
import { type CallSums, joinSums, monthOfLeg, noSums, type Sums, sumsOf } from '../conversions/call-import.ts'
import { closeBook, convertMoney, emptyBook, isMoney } from '../conversions/ledgers.rules.ts'
import { accountDatabase } from '../documents/database-names.ts'
import { readDocument } from '../documents/fields.ts'
import { type MonthPlace, monthOf } from '../import-run/months.ts'
import { legsIn } from '../import-run/reading.ts'
import { databasesOf } from '../import-sections/section.ts'
import type { CheckedStore } from '../report/store.ts'
import { differencesOfRecords } from './differences.ts'
import { type Drawing, type Drawings, type Look, toldAt } from './expected-records.ts'

interface Deps {
  store: Pick<Store, 'records'>
  adoptions: Readonly<Record<string, ImportedRecord>>
  drawings: Drawings
}

type Placed = Pick<StoredRecord, 'sortKey' | 'id'>

// Kinds that lists return in the order of their sort keys.
const listed: ReadonlySet<string> = new Set([
  'user',
  'device',
  'callflow',
  'group',
  'service_plan',
  'resource',
])

const rowsAtOnce = 500

// Both engines order texts by bytes.
const inOrder = (one: Placed, other: Placed) =>
  Buffer.compare(Buffer.from(one.sortKey), Buffer.from(other.sortKey)) ||
  Buffer.compare(Buffer.from(one.id), Buffer.from(other.id))

export const createRecordComparison = ({ store: { records }, adoptions, drawings }: Deps) => {
  const { arrivalOf, withReason } = drawings

  const storedIds = async (accountId: string, kind: string) => {
    const found: string[] = []
    for (let after: readonly [string, string] | undefined; ; ) {
      const place = { accountId, kind, ...(after ? { after } : {}) }
      const page = await records.rows({ ...place, limit: rowsAtOnce, descending: false })
      found.push(...page.map(({ id }) => id))
      const last = page.at(-1)
      if (!last || page.length < rowsAtOnce) return found
      after = [last.sortKey, last.id]
    }
  }

  const compareOne = async ({ add }: Look, drawing: Drawing, drawn: NonNullable<ImportedRecord['drawn']>) => {
    const { as, accountId, id } = drawing.draft
    const { expected, stored } = await drawn(await arrivalOf(drawing))
    const place = { account_id: accountId, question: as, id }
    const told = stored
      ? toldAt(place, differencesOfRecords(expected.doc as Json, stored.doc as Json))
      : [{ ...place, what: 'missing' }]
    add(as, 1, await withReason(drawing, stored?.modified, told))
    return expected
  }

  /** The admin of the first start is a user of the master account. */
  const isOfFirstStart = async ({ facts, begun }: Look, accountId: string, kind: string, id: string) => {
    if (accountId !== facts.masterId || kind !== 'user' || begun === undefined) return false
    const record = await records.find(accountId, kind, id)
    return record !== undefined && record.created <= begun
  }

  const compareList = async (look: Look, accountId: string, kind: string, expected: readonly Placed[]) => {
    const idsThere = expected.toSorted(inOrder).map(({ id }) => id)
    const idsHere = await storedIds(accountId, kind)
    const [there, here] = [new Set(idsThere), new Set(idsHere)]
    const extra: string[] = []
    for (const id of idsHere)
      if (!there.has(id) && !(await isOfFirstStart(look, accountId, kind, id))) extra.push(id)
    const shared = idsThere.filter((id) => here.has(id))
    const sharedHere = idsHere.filter((id) => there.has(id))
    const moved = shared.find((id, index) => sharedHere[index] !== id)
    const place = { account_id: accountId, question: `${kind}, in order` }
    look.add(place.question, 1, [
      ...extra.map((id) => ({ ...place, id, what: 'extra', why: 'made here' })),
      ...(moved === undefined ? [] : [{ ...place, id: moved, what: 'order' }]),
    ])
    look.sum(kind, there.size, shared.length + extra.length)
  }

  const servicesOf = async ({ facts }: Look, accountId: string): Promise<Drawing[]> => {
    if (!facts.kinds.has('services')) return []
    const found = await facts.source.document('services', accountId)
    return found ? drawings.ofDocument('services', facts, readDocument('services', found)) : []
  }

  return async (look: Look, accountId: string): Promise<readonly Drawing[]> => {
    const all: Drawing[] = []
    for await (const page of drawings.pages('account documents', look.facts, accountDatabase(accountId)))
      all.push(...page.filter(({ draft }) => draft.accountId === accountId))
    const expected = new Map<string, Placed[]>(Array.from(listed, (kind) => [kind, []]))
    for (const drawing of [...all, ...(await servicesOf(look, accountId))]) {
      const { drawn } = adoptions[drawing.draft.as] ?? {}
      const record = drawn && (await compareOne(look, drawing, drawn))
      if (record) expected.get(record.kind)?.push(record)
    }
    for (const [kind, records] of expected) await compareList(look, accountId, kind, records)
    return all.filter(({ draft }) => adoptions[draft.as]?.drawn === undefined)
  }
}

export const createAccountComparison = (
  { records }: Pick<Store, 'records'>,
  { arrivalOf, withReason }: Drawings,
) => {
  return async ({ facts: { plan, source }, add }: Look, accountId: string) => {
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
    add('account', 1, await withReason({ draft, document }, modified, toldAt(place, differences)))
    const [there, here] = [treeOf(plan, accountId).join(), hidden.tree.join()]
    const ofTree = { account_id: accountId, question: 'tree', what: 'tree', there, here }
    add('tree', 1, there === here ? [] : [ofTree])
  }
}

interface NumberComparisonDeps {
  numbers: Pick<Numbers['store'], 'findSeveral'>
  checked: CheckedStore
  drawings: Drawings
}

type StoredNumbers = Awaited<ReturnType<Numbers['store']['findSeveral']>>

const hearsay = 'number_by_hearsay'
const ofNumbers: ReadonlySet<string> = new Set(['number', hearsay])
const atOnce = 500

/** Compares owner, state, fields and features of numbers. */
export const createNumberComparison = ({ numbers, checked, drawings }: NumberComparisonDeps) => {
  const compareOne = async (drawing: Drawing, stored: StoredNumbers) => {
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
    return drawings.withReason(drawing, number.modified, toldAt(place, differences))
  }

  return {
    async ofAccounts({ facts }: Look, accountIds: readonly string[]) {
      const found = new Map<string, Drawing[]>(accountIds.map((id) => [id, []]))
      for (const database of databasesOf(facts, 'numbers'))
        for await (const page of drawings.pages('numbers', facts, database))
          for (const drawing of page)
            if (ofNumbers.has(drawing.draft.as)) found.get(drawing.draft.accountId)?.push(drawing)
      return found
    },

    async compare({ add, sum }: Look, accountId: string, all: readonly Drawing[]) {
      const told = all.filter(({ draft }) => ofNumbers.has(draft.as))
      for (let from = 0; from < told.length; from += atOnce) {
        const some = told.slice(from, from + atOnce)
        const stored = await numbers.findSeveral(some.map(({ draft }) => draft.id))
        for (const drawing of some) add('number', 1, await compareOne(drawing, stored))
      }
      const there = new Set(told.map(({ draft }) => draft.id))
      const here = await checked.numbersOf(accountId)
      const place = { account_id: accountId, question: 'number' }
      const extra = [...here].filter((id) => !there.has(id))
      add(
        'number',
        0,
        extra.map((id) => ({ ...place, id, what: 'extra' })),
      )
      sum('number', there.size, here.size)
    },
  }
}

/** `isLoose`: some calls name no interaction, so their interaction depends on the other imported calls. */
const comparedOf = ({ begun, ...compared }: Sums, isLoose: boolean) =>
  isLoose ? compared : { ...compared, begun }

export const createMonthComparison = (checked: CheckedStore) => {
  const bookOf = async ({ facts }: Look, place: MonthPlace, before: number | undefined) => {
    const month = await monthOf(facts, place, before)
    let book = emptyBook
    for await (const { documents } of facts.source.pages(place.database))
      for (const document of documents.map((one) => readDocument(place.database, one)).filter(isMoney))
        ({ book } = convertMoney(document, month, book))
    return { moved: book.moved, units: closeBook(book, place.database, month).units }
  }

  const callsOf = async ({ facts }: Look, place: MonthPlace) => {
    let calls: CallSums = {}
    const loose = new Set<string>()
    for await (const legs of legsIn(facts.source, place)) {
      for (const { id, namesInteraction } of legs) if (!namesInteraction) loose.add(monthOfLeg(id))
      calls = joinSums(
        calls,
        sumsOf(
          legs.map(({ id, leg: { record } }) => ({
            ...record,
            ...costsOf(record),
            interaction_time: interactionOf(record).time,
            id,
          })),
        ),
      )
    }
    return { calls, loose }
  }

  /** Returns the units at the end of the last month. */
  const compareBooks = async (look: Look, accountId: string, months: readonly MonthPlace[]) => {
    let before: number | undefined
    for (const place of months) {
      const { moved: there, units } = await bookOf(look, place, before)
      const { moved: here } = await checked.booked(accountId, Number(place.month))
      const asked = { account_id: accountId, question: 'ledger of a month', id: place.month }
      look.add(asked.question, 1, there === here ? [] : [{ ...asked, what: 'units', there, here }])
      look.sum('units moved', there, here)
      before = units
    }
    return before ?? 0
  }

  const compareBalance = async ({ add, sum }: Look, accountId: string, there: number) => {
    const here = await checked.balance(accountId)
    const asked = { account_id: accountId, question: 'balance' }
    add(asked.question, 1, there === here ? [] : [{ ...asked, what: 'units', there, here }])
    sum('units of balances', there, here)
  }

  const compareCalls = async (look: Look, accountId: string, months: readonly MonthPlace[]) => {
    let there: CallSums = {}
    const loose = new Set<string>()
    for (const place of months) {
      const found = await callsOf(look, place)
      there = joinSums(there, found.calls)
      for (const month of found.loose) loose.add(month)
    }
    const here = await checked.called(accountId)
    for (const month of [...new Set([...Object.keys(there), ...here.keys()])].sort()) {
      const [one, other] = [there[month] ?? noSums, here.get(month) ?? noSums]
      const asked = { account_id: accountId, question: 'calls of a month', id: month }
      const [said, stored] = [one, other].map((sums) => comparedOf(sums, loose.has(month)))
      look.add(asked.question, 1, toldAt(asked, differencesBetween({ ...said }, { ...stored })))
      look.sum('call records', one.count, other.count)
      look.sum('seconds of calls', one.duration, other.duration)
      look.sum('billed seconds', one.billing, other.billing)
      look.sum('units of calls', one.cost, other.cost)
    }
  }

  return async (look: Look, accountId: string, months: readonly MonthPlace[]) => {
    await compareBalance(look, accountId, await compareBooks(look, accountId, months))
    if (!look.facts.withoutCalls) await compareCalls(look, accountId, months)
  }
}
