import { recordsNamedIn } from '../../src/areas/voice/callflows/rules.ts'
import { isObject, type Json } from '../../src/lib/json.ts'
import { memberOf } from '../../src/lib/member.ts'
import type { StoredRecord } from '../../src/storage/records.ts'
import { keptPlace } from '../conversions/preserved.rules.ts'
import { accountDatabase } from '../documents/database-names.ts'
import type { AttachedFile, Converted, Draft } from '../documents/document.ts'
import { inParts } from '../import-run/at-once.ts'
import { convertedOf } from '../import-run/reading.ts'
import { type DocumentRow, isRefused } from '../import-run/store.ts'
import type { Chapter } from '../import-sections/section.ts'
import { flawOfFile } from '../source/documents.ts'
import { type CheckDeps, compareCounts, difference, eachDatabase, type Tell } from './checks.ts'

const numberAdoptions: ReadonlySet<string> = new Set(['number', 'number_by_hearsay'])

/** Already reported when the document was read. */
const unreadable = 'file_unreadable'

const flawOf = ({ length, digest, contentType }: AttachedFile, bytes: Buffer) =>
  flawOfFile(bytes, { length, digest, content_type: contentType })

const createFileJudge =
  ({ run, adoptions }: Pick<CheckDeps, 'run' | 'adoptions'>) =>
  async ({ document, drafts }: Converted, tell: Tell) => {
    for (const { as, accountId, id, files } of drafts) {
      if (files.length === 0) continue
      const there = await adoptions[as]?.files?.({ accountId, id })
      if (!there) continue
      const told = await run.fieldsOf(document.database, document.id, unreadable)
      for (const file of files) {
        const bytes = there.get(file.role)
        if (!bytes && told.includes(file.name)) continue
        const flaw = bytes ? flawOf(file, bytes) : 'is not there'
        if (flaw)
          tell({ place: `account ${accountId}, ${as} ${id}`, reason: `the file ${file.name} ${flaw}` })
      }
    }
  }

const prices = ['rate_cost', 'rate_surcharge', 'internal_rate_cost'] as const

// Per batch: decks have millions of rates.
const maxSampled = 20

const sampleOf = (rates: readonly Draft[]) => {
  const step = Math.max(1, Math.ceil(rates.length / maxSampled))
  return rates.filter((_, index) => index % step === 0)
}

/** Checks all prices of small decks, and samples of large ones. */
const createPriceJudge =
  ({ records, adoptions }: Pick<CheckDeps, 'records' | 'adoptions'>) =>
  async (drafts: readonly Draft[], tell: Tell) => {
    const kind = adoptions.rate?.kind
    if (kind === undefined) return
    for (const { accountId, id, doc } of sampleOf(drafts.filter(({ as }) => as === 'rate'))) {
      const stored = (await records.find(accountId, kind, id))?.doc as Json | undefined
      if (!stored) continue
      for (const name of prices) {
        if (memberOf(stored, 'kazoo_import', 'rejected', name) !== undefined) continue
        const [expected, found] = [Number(doc[name] ?? 0), Number(stored[name] ?? 0)]
        if (expected !== found)
          tell({ place: `rate ${id}`, reason: `${name}: expected ${expected}, found ${found}` })
      }
    }
  }

/** Each document has its result, and its records exist. */
export const checkDocuments = async (tools: CheckDeps, tell: Tell) => {
  const { run, checked, facts, chapters, adoptions, records } = tools
  const judgeFiles = createFileJudge({ run, adoptions })
  const judgePrices = createPriceJudge({ records, adoptions })

  const standing = async ({ as, accountId }: Draft, ids: readonly string[]) => {
    const { kind } = adoptions[as] ?? {}
    if (kind !== undefined) return checked.present(kind, accountId, ids)
    if (numberAdoptions.has(as)) return new Set((await checked.numbers(ids)).keys())
    return as === 'kazoo_kept' ? keptAmong(accountId, ids) : undefined
  }

  const keptAmong = async (accountId: string, names: readonly string[]) => {
    const found = new Set<string>()
    const byDatabase = Map.groupBy(names, (name) => keptPlace(accountId, name).database)
    for (const [database, some] of byDatabase) {
      const idOf = (name: string) => keptPlace(accountId, name).id
      const there = await checked.kept(accountId, database, some.map(idOf))
      for (const name of some) if (there.has(idOf(name))) found.add(name)
    }
    return found
  }

  const judgeDrafts = async (drafts: readonly Draft[], tell: Tell) => {
    for (const same of Map.groupBy(drafts, ({ as, accountId }) => `${as}/${accountId}`).values()) {
      const [first] = same
      const there = first && (await standing(first, [...new Set(same.map(({ id }) => id))]))
      if (!there) continue
      for (const { as, accountId, id } of same)
        if (!there.has(id)) tell({ place: `account ${accountId}, ${as} ${id}`, reason: 'it is not there' })
    }
  }

  const hasDigests = ({ as, facts: { digests } }: Draft) =>
    as === 'user' && isObject(digests) && Object.keys(digests).length > 0

  /** Users who could sign in there can sign in here. */
  const judgeKeys = async (drafts: readonly Draft[], tell: Tell) => {
    const users = Map.groupBy(drafts.filter(hasDigests), ({ accountId }) => accountId)
    for (const [accountId, some] of users) {
      const ids = some.map(({ id }) => id)
      for (const id of await checked.withoutKeys(accountId, ids))
        tell({ place: `account ${accountId}, user ${id}`, reason: 'the user has no keys to sign in with' })
    }
  }

  const judgeOutcome = ({ document, outcome }: Converted, row: DocumentRow | undefined, tell: Tell) => {
    const place = `${document.database} ${document.id}`
    if (!row) tell({ place, reason: `expected ${outcome}, found nothing` })
    else if (!isRefused(row) && row.outcome !== outcome)
      tell({ place, reason: `expected ${outcome}, found ${row.outcome}` })
  }

  const judge = async (database: string, converted: readonly Converted[], tell: Tell) => {
    for (const some of inParts(converted)) {
      const known = await run.known(
        database,
        some.map(({ document }) => document.id),
      )
      for (const one of some) judgeOutcome(one, known.get(one.document.id), tell)
      const stored = some.filter(({ document }) => {
        const row = known.get(document.id)
        return row && !isRefused(row)
      })
      const drafts = stored.flatMap((one) => one.drafts)
      await judgeDrafts(drafts, tell)
      await judgeKeys(drafts, tell)
      await judgePrices(drafts, tell)
      for (const one of stored) await judgeFiles(one, tell)
    }
  }

  const checkDatabase = async (chapter: Chapter, database: string) => {
    const expected = new Map<string, number>()
    for await (const converted of convertedOf(chapter, facts, database)) {
      for (const { document } of converted)
        expected.set(document.type, (expected.get(document.type) ?? 0) + 1)
      await judge(database, converted, tell)
    }
    compareCounts(expected, await checked.remembered(database), (type, wanted, there) =>
      tell({ place: database, reason: difference(`documents of type ${type || '(none)'}`, wanted, there) }),
    )
  }

  for (const chapter of chapters)
    await eachDatabase(tools, chapter, (database) => checkDatabase(chapter, database))
}

interface Reference {
  field: string
  kind: string
  accountId: string
  id: string
}

const isId = (value: unknown): value is string => typeof value === 'string' && /^[0-9a-f]{32}$/.test(value)

const ownerIn = (accountId: string, { owner_id: owner }: Json): Reference[] =>
  isId(owner) ? [{ field: 'owner_id', kind: 'user', accountId, id: owner }] : []

const inFlow = (accountId: string, { flow }: Json): Reference[] =>
  isObject(flow)
    ? recordsNamedIn(flow).flatMap(({ kind, id }) =>
        isId(id) ? [{ field: 'flow', kind, accountId, id }] : [],
      )
    : []

const inGroup = (accountId: string, { endpoints }: Json): Reference[] =>
  Object.entries(isObject(endpoints) ? endpoints : {}).flatMap(([id, endpoint]) =>
    isObject(endpoint) && typeof endpoint.type === 'string' && isId(id)
      ? [{ field: `endpoints.${id}`, kind: endpoint.type, accountId, id }]
      : [],
  )

const inServices = ({ plans }: Json): Reference[] =>
  Object.entries(isObject(plans) ? plans : {}).flatMap(([id, assigned]) =>
    isObject(assigned) && isId(assigned.vendor_id)
      ? [{ field: `plans.${id}`, kind: 'service_plan', accountId: assigned.vendor_id, id }]
      : [],
  )

export const referencesIn = (kind: string, accountId: string, doc: Json): Reference[] => [
  ...ownerIn(accountId, doc),
  ...(kind === 'callflow' ? inFlow(accountId, doc) : []),
  ...(kind === 'group' ? inGroup(accountId, doc) : []),
  ...(kind === 'services' ? inServices(doc) : []),
]

// Kinds that only documents of the account's own database make.
const kindsOfDocuments: ReadonlySet<string> = new Set(['user', 'device', 'callflow', 'group', 'service_plan'])

type Naming = Reference & { by: Pick<StoredRecord, 'kind' | 'accountId' | 'id'> }

/** Each record has a document, and references exist unless they were broken in the source. */
export const checkRecords = async ({ run, checked, records, facts }: CheckDeps, tell: Tell) => {
  const judgeOrigins = async (accountId: string, all: readonly StoredRecord[]) => {
    // The master account has the admin of the first start.
    if (accountId === facts.masterId) return
    const judged = all.filter(({ kind }) => kindsOfDocuments.has(kind))
    const known = await run.known(
      accountDatabase(accountId),
      judged.map(({ id }) => id),
    )
    for (const { kind, id } of judged) {
      const made = known
        .get(id)
        ?.records.some(([as, owner, of]) => as === kind && owner === accountId && of === id)
      if (!made) tell({ place: `account ${accountId}, ${kind} ${id}`, reason: 'no document has made it' })
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
        const there = await checked.present(
          first.kind,
          first.accountId,
          some.map(({ id }) => id),
        )
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
      await judgeOrigins(accountId, all)
      for (const naming of await dangling(all)) {
        if (await isSoThere(naming)) continue
        const { by, field, kind, id } = naming
        const place = `account ${by.accountId}, ${by.kind} ${by.id}`
        tell({ place, reason: `${field}: the ${kind} ${id} is not there` })
      }
    }
}
