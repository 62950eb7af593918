import { recordsNamedIn } from '../../src/areas/voice/callflows/rules.ts'
import { isObject, type Json } from '../../src/lib/json.ts'
import { inParts } from '../../src/lib/list.ts'
import type { StoredRecord } from '../../src/storage/records.ts'
import { preservedPlace } from '../conversions/preserved.rules.ts'
import { accountDatabase } from '../documents/database-names.ts'
import type { Converted, Draft } from '../documents/document.ts'
import { isRefused } from '../import-run/store.ts'
import { flawOfFile } from '../source/documents.ts'
import {
  type Comparison,
  compareCounts,
  convertAgain,
  type ExpectedRecord,
  expectedRecordsOf,
  rowsAtOnce,
  withRows,
} from './comparison.ts'
import { compareRecord, numberImporters } from './records.ts'

type Check = (comparison: Comparison, drafts: readonly Draft[]) => Promise<void>

const placeOf = ({ as, accountId, id }: Draft) => ({ account_id: accountId, question: as, id })

const checkFiles = async (
  { run, adoptions, add }: Comparison,
  { document: { database, id: documentId }, drafts }: Converted,
) => {
  for (const draft of drafts) {
    const { as, accountId, id, files } = draft
    const there = files.length > 0 ? await adoptions[as]?.files?.({ accountId, id }) : undefined
    if (!there) continue
    const known = await run.findingsOf(database, documentId)
    for (const { role, name, length, digest, contentType } of files) {
      const bytes = there.get(role)
      // Already reported when the document was read.
      if (!bytes && known.some(({ code, field }) => code === 'file_unreadable' && field === name)) continue
      const flaw = bytes ? flawOfFile(bytes, { length, digest, content_type: contentType }) : 'is missing'
      add(placeOf(draft), 1, flaw ? [{ what: `the file ${name} ${flaw}` }] : [])
    }
  }
}

// Per batch: decks have millions of rates.
const maxSampled = 20

/** Compares all rates of small decks, and samples of large ones. Missing rates are already reported. */
const checkRates = async (comparison: Comparison, expected: readonly ExpectedRecord[]) => {
  const { drawn, kind } = comparison.adoptions.rate ?? {}
  if (!drawn || kind === undefined) return
  const rates = expected.filter(({ draft }) => draft.as === 'rate')
  const step = Math.max(1, Math.ceil(rates.length / maxSampled))
  for (const one of rates.filter((_, index) => index % step === 0)) {
    const { accountId, id } = one.draft
    if (await comparison.records.find(accountId, kind, id)) await compareRecord(comparison, one, drawn)
  }
}

const hasDigests = ({ as, facts: { digests } }: Draft) =>
  as === 'user' && isObject(digests) && Object.keys(digests).length > 0

/** Users who could sign in there can sign in here. */
const checkSignIn: Check = async (comparison, drafts) => {
  for (const [accountId, some] of Map.groupBy(drafts.filter(hasDigests), (one) => one.accountId)) {
    const ids = some.map(({ id }) => id)
    const without = await comparison.stored.withoutKeys(accountId, ids)
    const what = 'the user has no keys to sign in with'
    const found = ids.filter((id) => without.has(id)).map((id) => ({ id, what }))
    comparison.add({ account_id: accountId, question: 'user' }, ids.length, found)
  }
}

const preservedAmong = async ({ stored }: Comparison, accountId: string, names: readonly string[]) => {
  const found = new Set<string>()
  const byDatabase = Map.groupBy(names, (name) => preservedPlace(accountId, name).database)
  for (const [database, some] of byDatabase) {
    const idOf = (name: string) => preservedPlace(accountId, name).id
    const there = await stored.preserved(accountId, database, some.map(idOf))
    for (const name of some) if (there.has(idOf(name))) found.add(name)
  }
  return found
}

const checkPresence: Check = async (comparison, drafts) => {
  const { stored, adoptions, numbers } = comparison
  const idsThere = async ({ as, accountId }: Draft, ids: readonly string[]) => {
    const kind = adoptions[as]?.kind
    if (kind !== undefined) return stored.present(kind, accountId, ids)
    if (numberImporters.has(as)) return numbers.findSeveral(ids)
    return as === 'kazoo_kept' ? preservedAmong(comparison, accountId, ids) : undefined
  }
  for (const same of Map.groupBy(drafts, ({ as, accountId }) => `${as}/${accountId}`).values()) {
    const [first] = same
    const there = first && (await idsThere(first, [...new Set(same.map(({ id }) => id))]))
    if (!there) continue
    const missing = same.filter(({ id }) => !there.has(id)).map(({ id }) => ({ id, what: 'missing' }))
    comparison.add(placeOf(first), same.length, missing)
  }
}

const typeLabel = (type: string) => `documents of type ${type || '(none)'}`

/** Each document has its result, and its records exist. */
export const checkDocuments = async (comparison: Comparison) => {
  const { chapters, add, stored } = comparison

  const check = async (converted: readonly Converted[], database: string) => {
    const taken: Converted[] = []
    for (const { one, row } of await withRows(comparison, database, converted)) {
      if (row && isRefused(row)) continue
      if (row) taken.push(one)
      const [there, here] = [one.outcome, row?.outcome]
      const place = { question: database, id: one.document.id }
      add(place, 1, there === here ? [] : [{ what: 'result', there, here }])
    }
    const expected = expectedRecordsOf(taken)
    const drafts = expected.map(({ draft }) => draft)
    await checkPresence(comparison, drafts)
    await checkSignIn(comparison, drafts)
    await checkRates(comparison, expected)
    for (const one of taken) await checkFiles(comparison, one)
  }

  let counted = { database: '', types: new Map<string, number>() }
  const typesIn = (database: string) => {
    if (counted.database !== database) counted = { database, types: new Map() }
    return counted.types
  }
  const countAndCheck = async (converted: readonly Converted[], database: string) => {
    const types = typesIn(database)
    for (const { document } of converted) types.set(document.type, (types.get(document.type) ?? 0) + 1)
    await check(converted, database)
  }
  for (const chapter of chapters)
    await convertAgain(comparison, chapter, countAndCheck, async (database) => {
      const here = await stored.remembered(database)
      compareCounts(comparison, database, typeLabel, typesIn(database), here)
    })
}

interface Reference {
  field: string
  kind: string
  accountId: string
  id: string
}

const isId = (value: unknown): value is string => typeof value === 'string' && /^[0-9a-f]{32}$/.test(value)

const entriesOf = (value: unknown) => Object.entries(isObject(value) ? value : {})

export const referencesIn = (kind: string, accountId: string, doc: Json): Reference[] => {
  const found: Reference[] = []
  const add = (field: string, of: string, id: unknown, owner = accountId) => {
    if (isId(id)) found.push({ field, kind: of, accountId: owner, id })
  }
  add('owner_id', 'user', doc.owner_id)
  if (kind === 'callflow' && isObject(doc.flow))
    for (const named of recordsNamedIn(doc.flow)) add('flow', named.kind, named.id)
  if (kind === 'group')
    for (const [id, endpoint] of entriesOf(doc.endpoints))
      if (isObject(endpoint) && typeof endpoint.type === 'string') add(`endpoints.${id}`, endpoint.type, id)
  if (kind === 'services')
    for (const [id, assigned] of entriesOf(doc.plans))
      if (isObject(assigned) && isId(assigned.vendor_id))
        add(`plans.${id}`, 'service_plan', id, assigned.vendor_id)
  return found
}

// Kinds that only documents of the account's own database make.
const kindsOfDocuments: ReadonlySet<string> = new Set(['user', 'device', 'callflow', 'group', 'service_plan'])

const checkOrigins = async (comparison: Comparison, accountId: string, all: readonly StoredRecord[]) => {
  // The master account has the admin of the first start.
  if (accountId === comparison.facts.masterId) return
  const checked = all.filter(({ kind }) => kindsOfDocuments.has(kind))
  const ids = checked.map(({ id }) => id)
  const known = await comparison.run.known(accountDatabase(accountId), ids)
  const extra = checked.filter(({ kind, id }) => {
    const place = [kind, accountId, id].join()
    return !known.get(id)?.records.some((one) => one.join() === place)
  })
  const found = extra.map(({ kind, id }) => ({ question: kind, id, what: 'extra' }))
  comparison.add({ account_id: accountId, question: 'record' }, checked.length, found)
}

type Naming = Reference & { by: StoredRecord }

const danglingAmong = async ({ stored }: Comparison, all: readonly StoredRecord[]): Promise<Naming[]> => {
  const named = all.flatMap((by) =>
    referencesIn(by.kind, by.accountId, by.doc).map((reference) => ({ ...reference, by })),
  )
  const missing: Naming[] = []
  for (const same of Map.groupBy(named, ({ kind, accountId }) => `${kind}/${accountId}`).values())
    for (const some of inParts(same, rowsAtOnce)) {
      const [first] = some
      const ids = some.map(({ id }) => id)
      const there = first && (await stored.present(first.kind, first.accountId, ids))
      missing.push(...some.filter(({ id }) => !there?.has(id)))
    }
  return missing
}

/** Whether the source has the same broken reference. */
const isSoThere = async ({ facts, run }: Comparison, { by, accountId, id }: Naming) => {
  const database = by.kind === 'services' ? 'services' : accountDatabase(by.accountId)
  const said = facts.kinds.has(database) ? await facts.source.document(database, by.id) : undefined
  if (!said?.text.includes(id)) return false
  const named = (await run.known(accountDatabase(accountId), [id])).get(id)
  return (named?.records.length ?? 0) === 0
}

/** Each record has a document, and references exist unless they were broken in the source. */
export const checkRecords = async (comparison: Comparison) => {
  for (const accountId of comparison.accountIds)
    for await (const all of comparison.records.everything(accountId)) {
      await checkOrigins(comparison, accountId, all)
      for (const naming of await danglingAmong(comparison, all)) {
        if (await isSoThere(comparison, naming)) continue
        const { by, field, kind, id } = naming
        const place = { account_id: by.accountId, question: by.kind, id: by.id }
        comparison.add(place, 1, [{ what: `${field}: the ${kind} ${id} is missing` }])
      }
    }
}
