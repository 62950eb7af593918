import { badIdentifier, type Failure, failure } from '../lib/failure.ts'
import { evictOldest } from '../lib/forget-oldest.ts'
import { gregorianNow } from '../lib/gregorian.ts'
import { newId, randomHex } from '../lib/ids.ts'
import { sameJson } from '../lib/json.ts'
import { maskSecrets } from '../lib/secrets.ts'
import type { ChangeSet, Claim, ClaimHolder } from './change-set.ts'
import {
  deleteRecord,
  holderOf,
  insertRecord,
  isStorable,
  kind as kindOf,
  type PageQuery,
  StoredRecord,
  updateRecord,
} from './records.ts'
import type { SecretsOf } from './sealing.ts'
import type { Store } from './store.ts'

export interface CollectionDefinition<Doc extends object, Hidden extends object> {
  kind: string
  /** The order of lists; without it the ID. */
  sortKey?(doc: Doc, id: string): string
  ownerId?(doc: Doc): string
  /** Without the id. Without `row` a row has only the id. */
  row?(doc: Doc, hidden: Hidden): object
  claims?(record: StoredRecord<Doc, Hidden>): StoredClaim[]
  /** Billable items of a record, as [category, item] pairs. */
  counts?(doc: Readonly<Doc>): readonly (readonly [category: string, item: string])[]
  /** Marks secrets, which are stored encrypted. Without it only names mark them. */
  secrets?: SecretsOf
  /** The private values that the audit log shows when they change. */
  audited?(hidden: Readonly<Hidden>): object
}

/** `orElse`: the failure if another record has the claim. */
export interface StoredClaim extends Claim {
  orElse: () => Failure
}

type Owner = Pick<PageQuery, 'accountId' | 'ownerId'>

interface Content<Doc, Hidden> {
  doc: Doc
  hidden: Hidden
}

const claimKey = ({ scope, name, value }: Claim) => `${scope}\n${name}\n${value}`

const sameClaim = (a: Claim) => (b: Claim) => a.scope === b.scope && a.name === b.name && a.value === b.value

const maxInBatch = 500
const maxHolders = 20_000

/** Makes records of documents, and reads their claims and counts. */
const contentOf = <Doc extends object, Hidden extends object>(
  kind: string,
  definition: CollectionDefinition<Doc, Hidden>,
) => {
  type Stored = StoredRecord<Doc, Hidden>

  const auditedText = ({ doc, hidden }: Stored) => JSON.stringify({ ...doc, ...definition.audited?.(hidden) })

  return {
    build: (
      place: Pick<Stored, 'accountId' | 'id' | 'created' | 'modified'> & {
        tally?: number
        revision?: string
      },
      { doc, hidden }: Content<Doc, Hidden>,
    ): Stored =>
      new StoredRecord<Doc, Hidden>({
        ...place,
        kind,
        ownerId: definition.ownerId?.(doc) ?? '',
        sortKey: definition.sortKey?.(doc, place.id) ?? place.id,
        revision: place.revision ?? randomHex(16),
        docText: JSON.stringify(doc),
        hiddenText: JSON.stringify(hidden),
        rowText: maskSecrets(JSON.stringify({ id: place.id, ...definition.row?.(doc, hidden) })),
      }),

    claimsOf: (record: Stored) =>
      (definition.claims?.(record) ?? []).filter((claim) => isStorable(claim.value)),

    // Most kinds count nothing: then the document is not parsed.
    countsOf: (record: Stored) => definition.counts?.(record.doc) ?? [],

    auditedTexts(before: Stored, after: Stored) {
      if (!definition.audited || before.hiddenText === after.hiddenText) return undefined
      return { before: auditedText(before), after: auditedText(after) }
    },
  }
}

type ContentOf<Doc extends object, Hidden extends object> = ReturnType<typeof contentOf<Doc, Hidden>>

const reading = <Doc extends object, Hidden extends object>(
  { records }: Store,
  kind: ReturnType<typeof kindOf<Doc, Hidden>>,
  { claimsOf, countsOf }: ContentOf<Doc, Hidden>,
) => {
  type Stored = StoredRecord<Doc, Hidden>
  const holders = new Map<string, ClaimHolder>()
  const find = (accountId: string, id: string) => records.find(accountId, kind, id)
  const batches = (owner: Owner, limit = maxInBatch) => records.batches({ ...owner, kind, limit, long: true })

  return {
    find,

    /** The record that has a claim. The last known holder is read first: while it has the claim, no other record can. */
    async holder(claim: Claim): Promise<Stored | undefined> {
      const known = holders.get(claimKey(claim))
      const record = known && (await find(known.accountId, known.id))
      if (record && claimsOf(record).some(sameClaim(claim))) return record
      const holder = await records.claimant(claim)
      if (holder?.kind !== kind) return undefined
      holders.set(claimKey(claim), holder)
      evictOldest(holders, maxHolders)
      return find(holder.accountId, holder.id)
    },

    async get(accountId: string, id: string): Promise<Stored> {
      const record = await find(accountId, id)
      if (!record) throw failure(badIdentifier, { cause: id })
      return record
    },

    /** The record after uncommitted change sets; undefined if they remove it. */
    leftBy(sets: readonly ChangeSet[], record: Stored): Stored | undefined {
      const isOf = (other: ClaimHolder) =>
        other.kind === kind && other.id === record.id && other.accountId === record.accountId
      const isRemoved = sets.some(({ changes }) =>
        changes.some((change) => change.action === 'deleted' && isOf(change)),
      )
      if (isRemoved) return undefined
      const left = sets
        .flatMap(({ kept }) => kept)
        .findLast((one): one is Stored => one instanceof StoredRecord && isOf(one))
      return left ?? record
    },

    page: (query: Omit<PageQuery, 'kind'>) => records.page({ ...query, kind }),

    few: (accountId: string) => records.few(accountId, kind),

    rows: (query: Omit<PageQuery, 'kind'>) => records.rows({ ...query, kind }),

    fitting: (query: Omit<PageQuery, 'kind'>, bytes: number) => records.fitting({ ...query, kind }, bytes),

    batches,

    async all(owner: Owner): Promise<Stored[]> {
      const found: Stored[] = []
      for await (const batch of batches(owner)) found.push(...batch)
      return found
    },

    /** Read from the records. */
    async *counted(accountId: string): AsyncGenerator<readonly (readonly [string, string])[]> {
      for await (const batch of batches({ accountId })) yield batch.flatMap(countsOf)
    },
  }
}

const drafting = <Doc extends object, Hidden extends object>(
  { clock }: Store,
  { build }: ContentOf<Doc, Hidden>,
) => {
  type Stored = StoredRecord<Doc, Hidden>

  return {
    draft(accountId: string, content: Content<Doc, Hidden>, id = newId(clock.now())): Stored {
      const now = gregorianNow(clock)
      return build({ accountId, id, created: now, modified: now }, content)
    },

    /** An imported record. `tally` is that of the record it replaces. */
    arriving: (
      place: Pick<Stored, 'accountId' | 'id' | 'created' | 'modified' | 'revision'> & { tally?: number },
      content: Content<Doc, Hidden>,
    ): Stored => build(place, content),

    revise: (record: Stored, content: Partial<Content<Doc, Hidden>>): Stored => {
      const { accountId, id, created, tally, doc, hidden } = record
      const modified = gregorianNow(clock)
      return build({ accountId, id, created, modified, tally }, { doc, hidden, ...content })
    },
  }
}

const writing = <Doc extends object, Hidden extends object>(
  { sealing }: Store,
  { claimsOf, countsOf, auditedTexts }: ContentOf<Doc, Hidden>,
) => {
  type Stored = StoredRecord<Doc, Hidden>

  const count = (set: ChangeSet, record: Stored, delta: 1 | -1) => {
    for (const [category, item] of countsOf(record)) set.count(record.accountId, category, item, delta)
  }

  return {
    /** Removes the claims of an imported record from other records. */
    freeNames(set: ChangeSet, record: Stored) {
      for (const claim of claimsOf(record)) set.free(claim, holderOf(record))
    },

    insert(set: ChangeSet, record: Stored) {
      insertRecord(set, record, sealing.shut(record, record.docText))
      count(set, record, 1)
      for (const claim of claimsOf(record)) set.claim(claim, holderOf(record), claim.orElse)
    },

    replace(set: ChangeSet, before: Stored, after: Stored) {
      updateRecord(set, before, after, {
        stored: sealing.shut(after, after.docText),
        audited: auditedTexts(before, after),
      })
      if (!sameJson(countsOf(before), countsOf(after))) {
        count(set, before, -1)
        count(set, after, 1)
      }
      const had = claimsOf(before)
      const has = claimsOf(after)
      for (const claim of had) if (!has.some(sameClaim(claim))) set.release(claim, holderOf(before))
      for (const claim of has)
        if (!had.some(sameClaim(claim))) set.claim(claim, holderOf(after), claim.orElse)
    },

    remove(set: ChangeSet, record: Stored) {
      deleteRecord(set, record)
      count(set, record, -1)
      for (const claim of claimsOf(record)) set.release(claim, holderOf(record))
    },
  }
}

/** Stores one kind of document. Writes go into the caller's change set. */
export const createCollection = <Doc extends object, Hidden extends object>(
  store: Store,
  definition: CollectionDefinition<Doc, Hidden>,
) => {
  const kind = kindOf<Doc, Hidden>(definition.kind)
  if (definition.secrets) store.sealing.declare(kind, definition.secrets)
  const content = contentOf(kind, definition)
  return { kind, ...reading(store, kind, content), ...drafting(store, content), ...writing(store, content) }
}

export type Collection<Doc extends object, Hidden extends object> = ReturnType<
  typeof createCollection<Doc, Hidden>
>

export const readsOf = <Doc extends object, Hidden extends object>({
  kind,
  find,
  get,
  page,
  rows,
  fitting,
  counted,
}: Collection<Doc, Hidden>) => ({ kind, find, get, page, rows, fitting, counted })

export const putDocument = <Doc extends object, Hidden extends object>(
  set: ChangeSet,
  collection: Pick<Collection<Doc, Hidden>, 'draft' | 'insert' | 'revise' | 'replace'>,
  { accountId, id }: Pick<ClaimHolder, 'accountId' | 'id'>,
  { before, ...content }: Content<Doc, Hidden> & { before: StoredRecord<Doc, Hidden> | undefined },
): StoredRecord<Doc, Hidden> => {
  const after = before ? collection.revise(before, content) : collection.draft(accountId, content, id)
  if (before) collection.replace(set, before, after)
  else collection.insert(set, after)
  return after
}
