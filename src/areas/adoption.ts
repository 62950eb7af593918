import type { TSchema } from 'typebox'
import type { Problems } from '../lib/failure.ts'
import type { Json } from '../lib/json.ts'
import type { Place } from '../lib/removal.ts'
import type { ChangeSet } from '../storage/change-set.ts'
import type { Collection } from '../storage/collection.ts'
import type { StoredRecord } from '../storage/records.ts'

export interface ImportedFile {
  /** Role of the file in its record: `logo`, `photo`, `input`. */
  role: string
  contentType: string
  bytes: Buffer
  name?: string
}

/** A record of another system to be stored with its own ID and times. */
export interface ImportedRecord {
  accountId: string
  id: string
  /** Gregorian seconds. */
  created: number
  modified: number
  /** Distinguishes a new arrival from an earlier one: 32 hex digits, equal for equal content. */
  revision: string
  doc: Json
  /** Fields that are not imported. Secrets among them are in clear text, and must never be stored so. */
  facts: Json
  files: readonly ImportedFile[]
}

interface Drawn {
  expected: StoredRecord<object, object>
  stored: StoredRecord<object, object> | undefined
}

/** How an area imports records: without gates, signals, events to subscribers and jobs. */
export interface Importer {
  /** Checked before `put`: values that break it are removed and stored as rejected. Without it the area takes any document. */
  schema?: TSchema
  /** Checked after the schema; values that break the rules are removed and stored as rejected, too. */
  rules?(doc: Json): Problems
  /** Repairs a document that would do more without the values at these places than it did with them. */
  repair?(doc: Json, removed: readonly Place[]): Json
  /** Dotted keys that `put` drops because they are not valid here: for documents without a single schema. */
  leavesOut?(arrival: Pick<ImportedRecord, 'id' | 'doc'>): Promise<readonly string[]>
  /** The kind of the records that it makes, under the account and the id of their arrival; undefined where they are none. */
  kind?: string
  /** The reason why a file is not stored, for the operator; the record is stored without it. */
  fileProblem?(
    file: ImportedFile,
    arrival: Pick<ImportedRecord, 'accountId' | 'id'>,
  ): string | undefined | Promise<string | undefined>
  /** Work done for many records at once before they are stored: key derivation. */
  prepare?(arrivals: readonly ImportedRecord[]): Promise<void>
  /**
   * Adds the writes that store the record. Returns false, and adds nothing, if it is already stored like this.
   */
  put(set: ChangeSet, arrival: ImportedRecord): Promise<boolean>
  /** The same for many records in one call. Returns for each whether it was added. */
  putMany?(set: ChangeSet, arrivals: readonly ImportedRecord[]): Promise<boolean[]>
  /** The record as it would be stored, and the stored one. */
  drawn?(arrival: ImportedRecord): Promise<Drawn>
  /** The stored files of a record by their role, unchanged. */
  files?(place: Pick<ImportedRecord, 'accountId' | 'id'>): Promise<ReadonlyMap<string, Buffer>>
  /** Removes the record and its files. False if there is none. */
  remove(set: ChangeSet, place: Pick<ImportedRecord, 'accountId' | 'id'>): Promise<boolean>
  /** Recomputes what follows from imported records. Called when a source is read to its end; safe to repeat. */
  settle?(): Promise<void>
}

/** Imports records of a collection. `contentOf` gets the earlier import, whose generated secrets stay. */
export const importingInto = <Doc extends object, Hidden extends object>(
  collection: Pick<
    Collection<Doc, Hidden>,
    'kind' | 'find' | 'leftBy' | 'arriving' | 'freeNames' | 'insert' | 'replace' | 'remove'
  >,
  contentOf: (
    arrival: ImportedRecord,
    before: StoredRecord<Doc, Hidden> | undefined,
  ) => { doc: Doc; hidden: Hidden } | Promise<{ doc: Doc; hidden: Hidden }>,
): Required<Pick<Importer, 'kind' | 'put' | 'drawn' | 'remove'>> => ({
  kind: collection.kind,
  async drawn(arrival) {
    const { accountId, id, created, modified, revision } = arrival
    const stored = await collection.find(accountId, id)
    const place = { accountId, id, created, modified, revision }
    return { stored, expected: collection.arriving(place, await contentOf(arrival, stored)) }
  },
  async put(set, arrival) {
    const { accountId, id, created, modified, revision } = arrival
    const stored = await collection.find(accountId, id)
    const before = stored && collection.leftBy([set], stored)
    if (before?.revision === revision) return false
    const tally = before ? { tally: before.tally } : {}
    const place = { accountId, id, created, modified, revision, ...tally }
    const after = collection.arriving(place, await contentOf(arrival, before))
    collection.freeNames(set, after)
    if (before) collection.replace(set, before, after)
    else collection.insert(set, after)
    return true
  },
  async remove(set, { accountId, id }) {
    const record = await collection.find(accountId, id)
    if (record) collection.remove(set, record)
    return record !== undefined
  },
})

/** The adoption of rows that are not records. */
export const importingRows = <Row>(rows: {
  rowOf(arrival: ImportedRecord): Row | Promise<Row>
  find(accountId: string, id: string): Promise<Row | undefined>
  isSame(before: Row, after: Row): boolean
  put(set: ChangeSet, accountId: string, row: Row): void
  remove(set: ChangeSet, accountId: string, row: Row): void
}): Importer => ({
  async put(set, arrival) {
    const after = await rows.rowOf(arrival)
    const before = await rows.find(arrival.accountId, arrival.id)
    if (before !== undefined && rows.isSame(before, after)) return false
    rows.put(set, arrival.accountId, after)
    return true
  },
  async remove(set, { accountId, id }) {
    const before = await rows.find(accountId, id)
    if (before !== undefined) rows.remove(set, accountId, before)
    return before !== undefined
  },
})
