import type { ImportedFile, ImportedRecord, Importer } from '../../src/areas/adoption.ts'
import type { Validate } from '../../src/areas/area.ts'
import { validPartOf } from '../../src/areas/valid-part.ts'
import type { Keyring } from '../../src/auth/keyring.ts'
import { Failure, isOutage } from '../../src/lib/failure.ts'
import { isObject, type Json } from '../../src/lib/json.ts'
import { pathOf, placeOf } from '../../src/lib/property-path.ts'
import { mapSecretsAt } from '../../src/lib/secrets.ts'
import { type Author, ChangeSet } from '../../src/storage/change-set.ts'
import type { Store } from '../../src/storage/store.ts'
import { finding } from '../conversions/findings.ts'
import type { AttachedFile, Converted, Draft, Finding, KazooDocument } from '../documents/document.ts'
import { rejectedIn, rejectedOf, withRejected } from '../documents/fields.ts'
import type { Source } from '../source/source.ts'
import { type DatabaseRow, type DocumentRow, type RecordPlace, type RunStore, refusedMark } from './store.ts'

interface QuarantineDeps {
  adoptions: Readonly<Record<string, Pick<Importer, 'schema' | 'rules' | 'repair' | 'leavesOut'>>>
  validate: Validate
}

const asSecret = (secret: unknown) =>
  isObject(secret) && Object.keys(secret).join() === 'secret' ? secret : { secret }

/** Moves values that break the schema to `kazoo_import.rejected` of the record. */
export const quarantineInvalidFields =
  ({ adoptions, validate }: QuarantineDeps) =>
  async (
    draft: Draft,
    document: Pick<KazooDocument, 'database' | 'id'>,
  ): Promise<{ doc: Json; findings: readonly Finding[] }> => {
    const setAside = (field: string) => finding(document, 'repaired', 'set_aside', { field })
    const { schema, rules, repair, leavesOut } = adoptions[draft.as] ?? {}
    if (!schema) return { doc: draft.doc, findings: ((await leavesOut?.(draft)) ?? []).map(setAside) }
    const { doc, removed, unsolved } = await validPartOf(validate, schema, draft.doc, rules)
    const places = removed.map(({ place }) => place)
    const rejected = Object.entries({ ...rejectedIn(doc), ...rejectedOf(removed) }).map(([path, value]) => [
      path,
      mapSecretsAt(schema, placeOf(path), value, asSecret),
    ])
    return {
      doc: withRejected(repair?.(doc, places) ?? doc, Object.fromEntries(rejected)),
      findings: [...places.map(pathOf), ...unsolved].map(setAside),
    }
  }

interface Deps extends QuarantineDeps {
  store: Store
  run: RunStore
  adoptions: Readonly<Record<string, Importer>>
  keyring: Keyring
  author: Author
}

/** Documents of one database that are stored in one transaction, with the position after them. */
export interface Batch {
  source: Source
  database: string
  /** Its audit log contains the batch. */
  masterId: string
  converted: readonly Converted[]
  /** Ids of documents that the source no longer has. */
  gone: readonly string[]
  /** Whether refused documents are tried again. */
  triesAgain: boolean
  /** Stored in the same transaction. */
  position: DatabaseRow
}

export interface Written {
  changed: number
  removed: number
}

export const largestFile = 16_777_216

// Digests are left out, because a mark could be used to guess them; the revision shows that they changed.
const withoutDigests = (key: string, value: unknown) => (key === 'digests' ? undefined : value)

const samePlace = (one: RecordPlace) => (other: RecordPlace) =>
  one.every((part, index) => part === other[index])

interface Arriving {
  as: string
  arrival: ImportedRecord
  findings: readonly Finding[]
}

/** Makes drafts complete: valid, and with their files. */
const createArrivals = ({
  adoptions,
  validate,
  keyring,
}: Pick<Deps, 'adoptions' | 'validate' | 'keyring'>) => {
  const quarantine = quarantineInvalidFields({ adoptions, validate })

  const markOf = (...content: readonly unknown[]) => keyring.mark(JSON.stringify(content, withoutDigests))

  const importerOf = (as: string) => {
    const importer = adoptions[as]
    if (!importer) throw new Error(`no area imports ${as}`)
    return importer
  }

  const readFile = async (
    source: Source,
    { database, id: documentId }: KazooDocument,
    { role, name, contentType }: AttachedFile,
    { as, accountId, id }: Draft,
  ): Promise<{ file?: ImportedFile; problem?: string | undefined }> => {
    const bytes = await source.attachment({ database, id: documentId, name }, largestFile)
    if (!bytes) return { problem: 'it is not there' }
    if (bytes === 'too large') return { problem: `it is larger than ${largestFile} bytes` }
    const file = { role, contentType, bytes }
    return { file, problem: await importerOf(as).fileProblem?.(file, { accountId, id }) }
  }

  const arriving = async (source: Source, draft: Draft, document: KazooDocument): Promise<Arriving> => {
    const { as, accountId, id, created, modified, facts } = draft
    const { doc, findings: invalid } = await quarantine(draft, document)
    const read = await Promise.all(draft.files.map((file) => readFile(source, document, file, draft)))
    const files = read.flatMap(({ file, problem }) => (file && problem === undefined ? [file] : []))
    const unreadable = read.flatMap(({ problem: old }, index) => {
      const details = { field: draft.files[index]?.name ?? '', old }
      return old === undefined ? [] : [finding(document, 'needs_hand', 'file_unreadable', details)]
    })
    const arrival: ImportedRecord = {
      ...{ accountId, id, created, modified, doc, facts, files },
      // Computed lazily: bulk records do not use it.
      get revision() {
        return markOf(document.rev, draft, doc)
      },
    }
    return { as, arrival, findings: [...invalid, ...unreadable] }
  }

  return {
    markOf,
    importerOf,

    of: (source: Source, { document, drafts }: Converted) =>
      Promise.all(drafts.map((draft) => arriving(source, draft, document))),

    /** Calls `prepare` of each importer. */
    async prepared(all: readonly Arriving[]) {
      const groups = Array.from(
        Map.groupBy(all, ({ as }) => as),
        ([as, some]) => ({ importer: importerOf(as), arrivals: some.map(({ arrival }) => arrival) }),
      )
      for (const { importer, arrivals } of groups) await importer.prepare?.(arrivals)
      return groups
    },
  }
}

interface Prepared {
  document: KazooDocument
  before: DocumentRow | undefined
  row: DocumentRow
  arrivals: readonly Arriving[]
  findings: readonly Finding[]
}

/** Throws what no document is at fault for. */
const refusalOf = (error: unknown) => {
  if (!(error instanceof Failure) || isOutage(error)) throw error
  return error.kind.name
}

/** Stores each batch completely or not at all, and nothing twice. */
export const createBatches = (deps: Deps) => {
  const { store, run, author } = deps
  const arrivals = createArrivals(deps)
  const writing = createWriting(deps, arrivals.importerOf)

  const prepare = async (
    { source, database }: Batch,
    converted: Converted,
    mark: string,
    before: DocumentRow | undefined,
  ): Promise<Prepared> => {
    const { document, outcome, drafts, findings } = converted
    const arriving = await arrivals.of(source, converted)
    const records = drafts.map(({ as, accountId, id }): RecordPlace => [as, accountId, id])
    const { id: documentId, type } = document
    return {
      ...{ document, before, arrivals: arriving },
      findings: [...findings, ...arriving.flatMap((one) => one.findings)],
      row: { name: database, documentId, type, outcome, mark, records },
    }
  }

  const changedIn = async (batch: Batch, known: ReadonlyMap<string, DocumentRow>) => {
    const changed: Prepared[] = []
    for (const one of batch.converted) {
      const mark = arrivals.markOf(one.document.rev, one.outcome, one.drafts, one.findings)
      const before = known.get(one.document.id)
      const isRefusedBefore = before?.mark === refusedMark(mark) && !batch.triesAgain
      if (before?.mark !== mark && !isRefusedBefore) changed.push(await prepare(batch, one, mark, before))
    }
    return changed
  }

  return {
    note: writing.note,

    /** Adds bulk records: the result of each document is not stored. */
    async putMany(set: ChangeSet, source: Source, converted: readonly Converted[]) {
      const all = await Promise.all(converted.map((one) => arrivals.of(source, one)))
      for (const { importer, arrivals: some } of await arrivals.prepared(all.flat()))
        if (importer.putMany) await importer.putMany(set, some)
        else for (const arrival of some) await importer.put(set, arrival)
    },

    commit: (set: ChangeSet) =>
      set.changes.length === 0 ? store.writeUnrecorded(set.statements) : store.adopt(set),

    /** Adds findings to deleted documents whose records stay. */
    async addFindings(batch: Batch, findings: readonly Finding[]) {
      const ids = findings.map(({ id }) => id)
      const known = await run.known(batch.database, ids)
      const set = newSet(author, batch, findings.length)
      for (const one of findings) {
        const row = known.get(one.id)
        if (row) run.remember(set, { ...row, mark: one.code }, [one])
      }
      await store.adopt(set)
    },

    async store(batch: Batch): Promise<Written> {
      const ids = batch.converted.map(({ document }) => document.id)
      const known = await run.known(batch.database, [...ids, ...batch.gone])
      const changed = await changedIn(batch, known)
      const gone = batch.gone.flatMap((id) => known.get(id) ?? [])
      if (changed.length + gone.length === 0) await writing.note(batch.position)
      else {
        await arrivals.prepared(changed.flatMap((one) => one.arrivals))
        await writing.storeTogether(batch, changed, gone).catch(async (error: unknown) => {
          refusalOf(error)
          for (const one of changed) await writing.storeAlone(batch, one)
          await writing.storeTogether(batch, [], gone)
        })
      }
      return { changed: changed.length, removed: gone.length }
    },
  }
}

const newSet = (author: Author, { database, masterId }: Batch, documents: number) => {
  const set = new ChangeSet(author)
  const after = JSON.stringify({ database, documents })
  set.summary = { accountId: masterId, kind: 'kazoo_import', id: database, action: 'edited', after }
  // Preserved documents and positions make no other audit entry.
  set.record(set.summary)
  return set
}

const createWriting = ({ store, run, author }: Deps, importerOf: (as: string) => Importer) => {
  const removeAll = async (set: ChangeSet, places: readonly RecordPlace[]) => {
    for (const [as, accountId, id] of places) await importerOf(as).remove(set, { accountId, id })
  }

  const addTo = async (set: ChangeSet, { before, row, arrivals, findings }: Prepared) => {
    await removeAll(set, before?.records.filter((place) => !row.records.some(samePlace(place))) ?? [])
    for (const { as, arrival } of arrivals) await importerOf(as).put(set, arrival)
    run.remember(set, row, findings)
  }

  return {
    note: (position: DatabaseRow) => store.writeUnrecorded([run.putDatabase(position)]),

    /** After a refusal each document is stored alone, and the one at fault is reported. */
    async storeAlone(batch: Batch, one: Prepared) {
      try {
        const set = newSet(author, batch, 1)
        await addTo(set, one)
        await store.adopt(set)
      } catch (error) {
        const refused = finding(one.document, 'needs_hand', 'refused', { old: refusalOf(error) })
        const set = newSet(author, batch, 1)
        const [mark, records] = [refusedMark(one.row.mark), one.before?.records ?? []]
        run.remember(set, { ...one.row, outcome: 'rejected', mark, records }, [refused])
        await store.adopt(set)
      }
    },

    async storeTogether(batch: Batch, changed: readonly Prepared[], gone: readonly DocumentRow[]) {
      const set = newSet(author, batch, changed.length + gone.length)
      for (const row of gone) {
        await removeAll(set, row.records)
        run.forget(set, row)
      }
      for (const one of changed) await addTo(set, one)
      set.add(run.putDatabase(batch.position))
      await store.adopt(set)
    },
  }
}

export type Batches = ReturnType<typeof createBatches>
