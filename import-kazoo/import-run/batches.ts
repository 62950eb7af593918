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
import type { AttachedFile, Converted, Draft, Finding, KazooDocument } from '../documents/document.ts'
import { rejectedIn, rejectedOf, withRejected } from '../documents/fields.ts'
import type { Source } from '../source/source.ts'
import { type DatabaseRow, type DocumentRow, type RecordPlace, type RunStore, refusedMark } from './store.ts'

interface QuarantineDeps {
  adoptions: Readonly<Record<string, Pick<ImportedRecord, 'schema' | 'rules' | 'repair' | 'leavesOut'>>>
  validate: Validate
}

const asSecret = (secret: unknown) =>
  isObject(secret) && Object.keys(secret).join() === 'secret' ? secret : { secret }

const withSecrets = (schema: object, rejected: Json): Json =>
  Object.fromEntries(
    Object.entries(rejected).map(([path, value]) => [
      path,
      mapSecretsAt(schema, placeOf(path), value, asSecret),
    ]),
  )

/** Moves values that break the schema to `kazoo_import.rejected` of the record. */
export const quarantineInvalidFields =
  ({ adoptions, validate }: QuarantineDeps) =>
  async (
    draft: Draft,
    { database, id }: Pick<KazooDocument, 'database' | 'id'>,
  ): Promise<{ doc: Json; findings: readonly Finding[] }> => {
    const setAside = (field: string): Finding => ({
      severity: 'repaired',
      code: 'set_aside',
      database,
      id,
      field,
    })
    const { schema, rules, repair, leavesOut } = adoptions[draft.as] ?? {}
    if (!schema) return { doc: draft.doc, findings: ((await leavesOut?.(draft)) ?? []).map(setAside) }
    const { doc, removed, unsolved } = await validPartOf(validate, schema, draft.doc, rules)
    const places = removed.map(({ place }) => place)
    const rejected = withSecrets(schema, { ...rejectedIn(doc), ...rejectedOf(removed) })
    return {
      doc: withRejected(repair?.(doc, places) ?? doc, rejected),
      findings: [...places.map(pathOf), ...unsolved].map(setAside),
    }
  }

interface Deps {
  store: Store
  run: RunStore
  adoptions: Readonly<Record<string, ImportedRecord>>
  validate: Validate
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

const contentOf = ({ document: { rev }, outcome, drafts, findings }: Converted) =>
  JSON.stringify([rev, outcome, drafts, findings], withoutDigests)

const recordPlaceOf = ({ as, accountId, id }: Draft): RecordPlace => [as, accountId, id]

const samePlace = (one: RecordPlace) => (other: RecordPlace) =>
  one.every((part, index) => part === other[index])

const about = ({ database, id }: KazooDocument) => ({ database, id })

/** Stores each batch completely or not at all, and nothing twice. */
export const createBatches = ({ store, run, adoptions, validate, keyring, author }: Deps) => {
  const settingAside = quarantineInvalidFields({ adoptions, validate })

  const adoptionOf = (as: string) => {
    const adoption = adoptions[as]
    if (!adoption) throw new Error(`no area takes in what is called ${as}`)
    return adoption
  }

  const readFile = async (
    source: Source,
    document: KazooDocument,
    { role, name, contentType }: AttachedFile,
    { as, accountId, id }: Draft,
  ): Promise<{ file?: ImportedFile; finding?: Finding }> => {
    const unreadable = (reason: string): { finding: Finding } => ({
      finding: {
        severity: 'needs_hand',
        code: 'file_unreadable',
        ...about(document),
        field: name,
        old: reason,
      },
    })
    const bytes = await source.attachment({ ...about(document), name }, largestFile)
    if (!bytes) return unreadable('it is not there')
    if (bytes === 'too large') return unreadable(`it is larger than ${largestFile} bytes`)
    const file = { role, contentType, bytes }
    const problem = await adoptionOf(as).fileProblem?.(file, { accountId, id })
    return problem === undefined ? { file } : unreadable(problem)
  }

  const arriving = async (source: Source, draft: Draft, document: KazooDocument) => {
    const { doc, findings } = await settingAside(draft, document)
    const read =
      draft.files.length === 0
        ? []
        : await Promise.all(draft.files.map((file) => readFile(source, document, file, draft)))
    const arrival: Importer = {
      accountId: draft.accountId,
      id: draft.id,
      created: draft.created,
      modified: draft.modified,
      // Computed lazily: bulk records do not use it.
      get revision() {
        return keyring.mark(JSON.stringify([document.rev, draft, doc], withoutDigests))
      },
      doc,
      facts: draft.facts,
      files: read.flatMap(({ file }) => (file ? [file] : [])),
    }
    return { arrival, as: draft.as, findings: [...findings, ...read.flatMap(({ finding }) => finding ?? [])] }
  }

  interface Marked {
    converted: Converted
    mark: string
    before: DocumentRow | undefined
  }

  interface Prepared {
    converted: Converted
    before: DocumentRow | undefined
    row: DocumentRow
    arrivals: readonly { as: string; arrival: Importer }[]
    findings: readonly Finding[]
  }

  const prepare = async (
    { source, database }: Batch,
    { converted, mark, before }: Marked,
  ): Promise<Prepared> => {
    const { document, drafts } = converted
    const arrivals = await Promise.all(drafts.map((draft) => arriving(source, draft, document)))
    return {
      converted,
      before,
      arrivals,
      findings: [...converted.findings, ...arrivals.flatMap(({ findings }) => findings)],
      row: {
        name: database,
        documentId: document.id,
        type: document.type,
        outcome: converted.outcome,
        mark,
        records: drafts.map(recordPlaceOf),
      },
    }
  }

  const removeAll = async (set: ChangeSet, places: readonly RecordPlace[]) => {
    for (const [as, accountId, id] of places) await adoptionOf(as).remove(set, { accountId, id })
  }

  const addTo = async (set: ChangeSet, { before, row, arrivals, findings }: Prepared) => {
    await removeAll(set, before?.records.filter((place) => !row.records.some(samePlace(place))) ?? [])
    for (const { as, arrival } of arrivals) await adoptionOf(as).put(set, arrival)
    run.remember(set, row, findings)
  }

  const newSet = ({ database, masterId }: Pick<Batch, 'database' | 'masterId'>, documents: number) => {
    const set = new ChangeSet(author)
    const after = JSON.stringify({ database, documents })
    set.summary = { accountId: masterId, kind: 'kazoo_import', id: database, action: 'edited', after }
    // Preserved documents and positions make no other audit entry.
    set.record(set.summary)
    return set
  }

  const prepareAreas = async (all: readonly Prepared[]) => {
    const arrivals = all.flatMap((one) => one.arrivals)
    for (const [as, ofKind] of Map.groupBy(arrivals, (one) => one.as))
      await adoptionOf(as).prepare?.(ofKind.map(({ arrival }) => arrival))
  }

  /** After a refusal each document is stored alone, and the one at fault is reported. */
  const storeAlone = async (batch: Batch, one: Prepared) => {
    try {
      const set = newSet(batch, 1)
      await addTo(set, one)
      await store.adopt(set)
    } catch (error) {
      if (!(error instanceof Failure) || isOutage(error)) throw error
      const { document } = one.converted
      const finding: Finding = {
        severity: 'needs_hand',
        code: 'refused',
        ...about(document),
        old: error.kind.name,
      }
      const set = newSet(batch, 1)
      const records = one.before?.records ?? []
      run.remember(set, { ...one.row, outcome: 'rejected', mark: refusedMark(one.row.mark), records }, [
        finding,
      ])
      await store.adopt(set)
    }
  }

  const storeTogether = async (batch: Batch, changed: readonly Prepared[], gone: readonly DocumentRow[]) => {
    const set = newSet(batch, changed.length + gone.length)
    for (const row of gone) {
      await removeAll(set, row.records)
      run.forget(set, row)
    }
    for (const one of changed) await addTo(set, one)
    set.add(run.putDatabase(batch.position))
    await store.adopt(set)
  }

  return {
    /** Adds bulk records: the result of each document is not stored. */
    async putMany(set: ChangeSet, source: Source, converted: readonly Converted[]) {
      const all = await Promise.all(
        converted.flatMap(({ document, drafts }) => drafts.map((draft) => arriving(source, draft, document))),
      )
      for (const [as, ofKind] of Map.groupBy(all, (one) => one.as)) {
        const adoption = adoptionOf(as)
        const arrivals = ofKind.map(({ arrival }) => arrival)
        await adoption.prepare?.(arrivals)
        if (adoption.putMany) await adoption.putMany(set, arrivals)
        else for (const arrival of arrivals) await adoption.put(set, arrival)
      }
    },

    commit: (set: ChangeSet) =>
      set.changes.length === 0 ? store.writeUnrecorded(set.statements) : store.adopt(set),

    note: (position: DatabaseRow) => store.writeUnrecorded([run.putDatabase(position)]),

    /** Adds findings to documents that are gone while their records stay. */
    async tell(batch: Batch, findings: readonly Finding[]) {
      const known = await run.known(
        batch.database,
        findings.map(({ id }) => id),
      )
      const set = newSet(batch, findings.length)
      for (const finding of findings) {
        const row = known.get(finding.id)
        if (row) run.remember(set, { ...row, mark: finding.code }, [finding])
      }
      await store.adopt(set)
    },

    async store(batch: Batch): Promise<Written> {
      const { database, converted, gone, position, triesAgain } = batch
      const ids = [...converted.map(({ document }) => document.id), ...gone]
      const known = await run.known(database, ids)
      const isNew = ({ before, mark }: Marked) =>
        before?.mark !== mark && (triesAgain || before?.mark !== refusedMark(mark))
      const marked = converted.map((one) => ({
        converted: one,
        mark: keyring.mark(contentOf(one)),
        before: known.get(one.document.id),
      }))
      const changed: Prepared[] = []
      for (const one of marked.filter(isNew)) changed.push(await prepare(batch, one))
      const left = gone.flatMap((id) => known.get(id) ?? [])
      if (changed.length + left.length === 0) {
        await store.writeUnrecorded([run.putDatabase(position)])
        return { changed: 0, removed: 0 }
      }
      await prepareAreas(changed)
      try {
        await storeTogether(batch, changed, left)
      } catch (error) {
        if (!(error instanceof Failure) || isOutage(error)) throw error
        for (const one of changed) await storeAlone(batch, one)
        await storeTogether(batch, [], left)
      }
      return { changed: changed.length, removed: left.length }
    },
  }
}

export type Batches = ReturnType<typeof createBatches>
