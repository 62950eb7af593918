import { recordsNamedIn } from '../../src/areas/voice/callflows/rules.ts'
import { isObject, type Json } from '../../src/lib/json.ts'
import { memberOf } from '../../src/lib/member.ts'
import type { StoredRecord } from '../../src/storage/records.ts'
import { preservedPlace } from '../conversions/preserved.rules.ts'
import { accountDatabase } from '../documents/database-names.ts'
import type { Converted, Draft } from '../documents/document.ts'
import { inParts } from '../import-run/at-once.ts'
import { isRefused } from '../import-run/store.ts'
import { flawOfFile } from '../source/documents.ts'
import type { CheckDeps, ReportFault } from './checks.ts'
import { compareCounts, convertAgain, difference, withRows } from './checks.ts'

const numberImporters: ReadonlySet<string> = new Set(['number', 'number_by_hearsay'])

const checkFiles = async (
  { run, adoptions }: CheckDeps,
  { document: { database, id: documentId }, drafts }: Converted,
  tell: ReportFault,
) => {
  for (const { as, accountId, id, files } of drafts) {
    const there = files.length > 0 ? await adoptions[as]?.files?.({ accountId, id }) : undefined
    if (!there) continue
    const known = await run.findingsOf(database, documentId)
    for (const { role, name, length, digest, contentType } of files) {
      const bytes = there.get(role)
      // Already reported when the document was read.
      if (!bytes && known.some(({ code, field }) => code === 'file_unreadable' && field === name)) continue
      const flaw = bytes ? flawOfFile(bytes, { length, digest, content_type: contentType }) : 'is not there'
      if (flaw) tell({ place: `account ${accountId}, ${as} ${id}`, reason: `the file ${name} ${flaw}` })
    }
  }
}

// Per batch: decks have millions of rates.
const maxSampled = 20

/** Checks all prices of small decks, and samples of large ones. */
const checkPrices = async (
  { records, adoptions }: CheckDeps,
  drafts: readonly Draft[],
  tell: ReportFault,
) => {
  const rates = drafts.filter(({ as }) => as === 'rate')
  const step = Math.max(1, Math.ceil(rates.length / maxSampled))
  for (const { accountId, id, doc } of rates.filter((_, index) => index % step === 0)) {
    const stored = (await records.find(accountId, adoptions.rate?.kind ?? 'rate', id))?.doc as
      | Json
      | undefined
    for (const name of stored ? ['rate_cost', 'rate_surcharge', 'internal_rate_cost'] : []) {
      if (memberOf(stored, 'kazoo_import', 'rejected', name) !== undefined) continue
      const [expected, found] = [Number(doc[name] ?? 0), Number(stored?.[name] ?? 0)]
      if (expected !== found)
        tell({ place: `rate ${id}`, reason: `${name}: expected ${expected}, found ${found}` })
    }
  }
}

const hasDigests = ({ as, facts: { digests } }: Draft) =>
  as === 'user' && isObject(digests) && Object.keys(digests).length > 0

/** Users who could sign in there can sign in here. */
const checkKeys = async ({ checked }: CheckDeps, drafts: readonly Draft[], tell: ReportFault) => {
  for (const [accountId, some] of Map.groupBy(drafts.filter(hasDigests), (one) => one.accountId)) {
    const ids = some.map(({ id }) => id)
    for (const id of await checked.withoutKeys(accountId, ids))
      tell({ place: `account ${accountId}, user ${id}`, reason: 'the user has no keys to sign in with' })
  }
}

const preservedAmong = async ({ checked }: CheckDeps, accountId: string, names: readonly string[]) => {
  const found = new Set<string>()
  const byDatabase = Map.groupBy(names, (name) => preservedPlace(accountId, name).database)
  for (const [database, some] of byDatabase) {
    const idOf = (name: string) => preservedPlace(accountId, name).id
    const there = await checked.preserved(accountId, database, some.map(idOf))
    for (const name of some) if (there.has(idOf(name))) found.add(name)
  }
  return found
}

const checkPresence = async (deps: CheckDeps, drafts: readonly Draft[], tell: ReportFault) => {
  const { checked, adoptions } = deps
  const idsThere = async ({ as, accountId }: Draft, ids: readonly string[]) => {
    const kind = adoptions[as]?.kind
    if (kind !== undefined) return checked.present(kind, accountId, ids)
    if (numberImporters.has(as)) return new Set((await checked.numbers(ids)).keys())
    return as === 'kazoo_kept' ? preservedAmong(deps, accountId, ids) : undefined
  }
  for (const same of Map.groupBy(drafts, ({ as, accountId }) => `${as}/${accountId}`).values()) {
    const [first] = same
    const there = first && (await idsThere(first, [...new Set(same.map(({ id }) => id))]))
    for (const { as, accountId, id } of there ? same : [])
      if (!there?.has(id)) tell({ place: `account ${accountId}, ${as} ${id}`, reason: 'it is not there' })
  }
}

/** Each document has its result, and its records exist. */
export const checkDocuments = async (deps: CheckDeps, tell: ReportFault) => {
  const check = async (converted: readonly Converted[], database: string) => {
    const stored: Converted[] = []
    for (const { one, row } of await withRows(deps, database, converted)) {
      if (row && isRefused(row)) continue
      if (row) stored.push(one)
      if (row?.outcome !== one.outcome)
        tell({
          place: `${database} ${one.document.id}`,
          reason: `expected ${one.outcome}, found ${row?.outcome ?? 'nothing'}`,
        })
    }
    const drafts = stored.flatMap((one) => one.drafts)
    await checkPresence(deps, drafts, tell)
    await checkKeys(deps, drafts, tell)
    await checkPrices(deps, drafts, tell)
    for (const one of stored) await checkFiles(deps, one, tell)
  }

  for (const chapter of deps.chapters) {
    const counts = new Map<string, Map<string, number>>()
    const countAndCheck = async (converted: readonly Converted[], database: string) => {
      const types = counts.get(database) ?? new Map<string, number>()
      counts.set(database, types)
      for (const { document } of converted) types.set(document.type, (types.get(document.type) ?? 0) + 1)
      await check(converted, database)
    }
    await convertAgain(deps, chapter, countAndCheck, async (database) => {
      const expected = counts.get(database) ?? new Map<string, number>()
      compareCounts(expected, await deps.checked.remembered(database), (type, wanted, there) =>
        tell({ place: database, reason: difference(`documents of type ${type || '(none)'}`, wanted, there) }),
      )
      counts.delete(database)
    })
  }
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

type Naming = Reference & { by: Pick<StoredRecord, 'kind' | 'accountId' | 'id'> }

/** Each record has a document, and references exist unless they were broken in the source. */
export const checkRecords = async ({ run, checked, records, facts }: CheckDeps, tell: ReportFault) => {
  const checkOrigins = async (accountId: string, all: readonly StoredRecord[]) => {
    // The master account has the admin of the first start.
    if (accountId === facts.masterId) return
    const checkedRecords = all.filter(({ kind }) => kindsOfDocuments.has(kind))
    const ids = checkedRecords.map(({ id }) => id)
    const known = await run.known(accountDatabase(accountId), ids)
    for (const { kind, id } of checkedRecords) {
      const place = [kind, accountId, id]
      if (!known.get(id)?.records.some((one) => one.join() === place.join()))
        tell({ place: `account ${accountId}, ${kind} ${id}`, reason: 'no document has made it' })
    }
  }

  const dangling = async (all: readonly StoredRecord[]): Promise<Naming[]> => {
    const named = all.flatMap((by) =>
      referencesIn(by.kind, by.accountId, by.doc).map((reference) => ({ ...reference, by })),
    )
    const missing: Naming[] = []
    for (const same of Map.groupBy(named, ({ kind, accountId }) => `${kind}/${accountId}`).values())
      for (const some of inParts(same)) {
        const [first] = some
        if (!first) continue
        const ids = some.map(({ id }) => id)
        const there = await checked.present(first.kind, first.accountId, ids)
        missing.push(...some.filter(({ id }) => !there.has(id)))
      }
    return missing
  }

  /** Whether the source has the same broken reference. */
  const isSoThere = async ({ by, accountId, id }: Naming) => {
    const database = by.kind === 'services' ? 'services' : accountDatabase(by.accountId)
    const said = facts.kinds.has(database) ? await facts.source.document(database, by.id) : undefined
    if (!said?.text.includes(id)) return false
    const named = (await run.known(accountDatabase(accountId), [id])).get(id)
    return (named?.records.length ?? 0) === 0
  }

  for (const accountId of facts.accounts.keys())
    for await (const all of records.everything(accountId)) {
      await checkOrigins(accountId, all)
      for (const naming of await dangling(all)) {
        if (await isSoThere(naming)) continue
        const { by, field, kind, id } = naming
        const place = `account ${by.accountId}, ${by.kind} ${by.id}`
        tell({ place, reason: `${field}: the ${kind} ${id} is not there` })
      }
    }
}
