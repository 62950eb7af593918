import { type AccountRecord, type Actor, accountKind, userKind } from '../auth/identity.ts'
import { invalid, joinProblems, type Problems } from '../lib/failure.ts'
import type { Json } from '../lib/json.ts'
import { type RecordShape, storedPart } from '../lib/record-shape.ts'
import { marksSecrets } from '../lib/secrets.ts'
import { type Author, ChangeSet, type Claim, conflict, systemScope } from '../storage/change-set.ts'
import { type Collection, readsOf, type StoredClaim } from '../storage/collection.ts'
import type { StoredRecord } from '../storage/records.ts'
import type { Store } from '../storage/store.ts'
import { type ImportedRecord, type Importer, importingInto } from './adoption.ts'

/** Who writes a record, and in which account. Each call of a route is one. */
export interface Writer {
  author: Author
  account: AccountRecord
  /** Absent if another area writes. */
  actor?: Actor | undefined
}

/** A body, and the record that it is to replace. */
interface Proposal<Doc extends object, Hidden extends object> extends Omit<Writer, 'author'> {
  data: Json
  before: StoredRecord<Doc, Hidden> | undefined
}

/** What is stored. Without `hidden` a new record has none, and a replaced one keeps it. */
type Content<Doc, Hidden> = { doc: Doc; hidden?: Hidden }

interface Write<Doc extends object, Hidden extends object> {
  account: AccountRecord
  before: StoredRecord<Doc, Hidden> | undefined
  after: StoredRecord<Doc, Hidden>
}

export interface RecordsDefinition<Doc extends object, Hidden extends object> {
  collection: Collection<Doc, Hidden>
  shape: RecordShape
  /** The records belong to the whole system, not to an account. */
  ofSystem?: true
  /** What the schema cannot check. The data may break the schema. */
  problems?(proposal: Proposal<Doc, Hidden> & { actor: Actor }): Promise<Problems>
  /** What is stored for valid data. Without it: the data without computed fields. */
  content?(proposal: Proposal<Doc, Hidden>): Content<Doc, Hidden> | Promise<Content<Doc, Hidden>>
  /** Called before the commit. Its additions to the change set are committed with the record. If it throws, nothing is committed. */
  beforeWrite?(set: ChangeSet, write: Write<Doc, Hidden>): Promise<void> | void
  beforeDelete?(set: ChangeSet, record: StoredRecord<Doc, Hidden>): Promise<void> | void
  /** How records of another system are stored. Without it: as they are, if their schema accepts them. */
  adoption?: Pick<Importer, 'rules' | 'repair'>
  adopted?(arrival: ImportedRecord): { doc: Doc; hidden: Hidden }
}

/** The records of one kind. Events, audit entries and deletion with the account follow from the collection. */
export const records = <Doc extends object, Hidden extends object>(
  store: Store,
  definition: RecordsDefinition<Doc, Hidden>,
) => {
  const { collection, shape, ofSystem, adoption, beforeWrite, beforeDelete } = definition
  const {
    problems = async () => ({}),
    content = ({ data }): Content<Doc, Hidden> => ({ doc: storedPart<Doc>(data, shape) }),
    adopted = ({ doc }) => ({ doc: doc as Doc, hidden: {} as Hidden }),
  } = definition
  // A secret must not depend on a second line in the collection.
  if (marksSecrets(shape.body)) store.sealing.declare(collection.kind, () => shape.body)
  const accountHold = store.words.heldRecords(`account_id = $1 AND kind = '${accountKind}' AND id = $1`)

  /** Fails if the account of a new record is gone: nothing would free the record's unique names. */
  const insert = (set: ChangeSet, record: StoredRecord<Doc, Hidden>) => {
    if (record.accountId !== systemScope)
      set.run(accountHold, [record.accountId], { rows: 1, orElse: conflict })
    collection.insert(set, record)
  }

  // The call of a route for records of the system has no account.
  const ownerOf = (account: AccountRecord) => (ofSystem ? systemScope : account.id)

  const addRemoval = async (set: ChangeSet, record: StoredRecord<Doc, Hidden>) => {
    collection.remove(set, record)
    await beforeDelete?.(set, record)
  }

  return {
    ...readsOf(collection),
    shape,
    ownerOf,
    problems,
    addRemoval,

    ownedBy: (account: AccountRecord, ownerId: string) => collection.all({ accountId: account.id, ownerId }),

    /** Adds the deletion of all records of an owner. Returns their IDs. */
    async removeOwned(set: ChangeSet, account: AccountRecord, ownerId: string) {
      const owned = await collection.all({ accountId: account.id, ownerId })
      for (const record of owned) await addRemoval(set, record)
      return owned.map(({ id }) => id)
    },

    async create({ author, account, actor }: Writer, data: Json): Promise<StoredRecord<Doc, Hidden>> {
      const { doc, hidden = {} as Hidden } = await content({ account, actor, data, before: undefined })
      const after = collection.draft(ownerOf(account), { doc, hidden })
      const set = new ChangeSet(author)
      insert(set, after)
      await beforeWrite?.(set, { account, before: undefined, after })
      await store.commit(set)
      return after
    },

    async replace(
      { author, account, actor }: Writer,
      before: StoredRecord<Doc, Hidden>,
      data: Json,
    ): Promise<StoredRecord<Doc, Hidden>> {
      const after = collection.revise(before, await content({ account, actor, data, before }))
      const set = new ChangeSet(author)
      collection.replace(set, before, after)
      await beforeWrite?.(set, { account, before, after })
      await store.commit(set)
      return after
    },

    async remove({ author }: Pick<Writer, 'author'>, record: StoredRecord<Doc, Hidden>) {
      const set = new ChangeSet(author)
      await addRemoval(set, record)
      await store.commit(set)
    },

    adoption: {
      schema: shape.body,
      ...adoption,
      ...importingInto({ ...collection, insert }, adopted),
    } satisfies Importer,
  }
}

/** A name that only one record may have, and what a second record is refused with. */
export interface UniqueName {
  claim: Claim
  problems: Problems
}

export const uniqueClaims = (names: readonly UniqueName[]): StoredClaim[] =>
  names.map(({ claim, problems }) => ({ ...claim, orElse: () => invalid(problems) }))

export const uniqueProblems = async (
  { records }: Store,
  names: readonly UniqueName[],
  before: { id: string } | undefined,
): Promise<Problems> => {
  const found = names.map(async ({ claim, problems }) => {
    const holder = await records.claimant(claim)
    return holder && holder.id !== before?.id ? problems : {}
  })
  return joinProblems(...(await Promise.all(found)))
}

/** An owner who is not a user of the account. One who left stays the owner of a record that is changed. */
export const ownerProblems = async (
  { records }: Store,
  accountId: string,
  { owner_id: ownerId }: { owner_id?: string },
  before: StoredRecord<{ owner_id?: string }, object> | undefined,
): Promise<Problems> => {
  if (ownerId === undefined || ownerId === before?.doc.owner_id) return {}
  if (await records.find(accountId, userKind, ownerId)) return {}
  return { owner_id: { not_found: { message: 'The account has no such user', cause: ownerId } } }
}

export type RecordOperations<Doc extends object, Hidden extends object> = ReturnType<
  typeof records<Doc, Hidden>
>
