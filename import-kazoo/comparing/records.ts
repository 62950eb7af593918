import { publicHalf } from '../../src/areas/accounts/accounts/rules.ts'
import type { ImportedRecord } from '../../src/areas/adoption.ts'
import { accountKind } from '../../src/auth/identity.ts'
import { differencesBetween } from '../../src/lib/differences.ts'
import type { Json } from '../../src/lib/json.ts'
import type { StoredRecord } from '../../src/storage/records.ts'
import type { Store } from '../../src/storage/store.ts'
import { convertAccount, treeOf } from '../conversions/accounts.rules.ts'
import { accountDatabase } from '../documents/database-names.ts'
import { readDocument } from '../documents/fields.ts'
import { type Drawing, type Drawings, type Look, toldAt } from './drawings.ts'
import { differencesOfRecords } from './rules.ts'

interface Deps {
  store: Pick<Store, 'records'>
  adoptions: Readonly<Record<string, ImportedRecord>>
  drawings: Drawings
}

type Placed = Pick<StoredRecord, 'sortKey' | 'id'>

// What lists show in the order of their sort keys.
const listed: ReadonlySet<string> = new Set([
  'user',
  'device',
  'callflow',
  'group',
  'service_plan',
  'resource',
])

const rowsAtOnce = 500

// As both engines order texts.
const inOrder = (one: Placed, other: Placed) =>
  Buffer.compare(Buffer.from(one.sortKey), Buffer.from(other.sortKey)) ||
  Buffer.compare(Buffer.from(one.id), Buffer.from(other.id))

/** What accounts have, record by record, and their lists. */
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

  /** Answers with the record as it is to stand here. */
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

  /** The admin whom the store had before anything came is one of the master account. */
  const isOfFirstStart = async ({ facts, begun }: Look, accountId: string, kind: string, id: string) => {
    if (accountId !== facts.masterId || kind !== 'user' || begun === undefined) return false
    const record = await records.find(accountId, kind, id)
    return record !== undefined && record.created <= begun
  }

  /** The rows of a list in their order, and how many there are. */
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

  /** Answers with what else the account's documents come to. */
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

/** Accounts themselves: what they say, and below whom they stand. */
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
