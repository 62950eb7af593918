// A kind of record for tests of the store: it belongs to no area.
import { createKeyring } from '../../../src/auth/keyring.ts'
import type { Clock } from '../../../src/lib/clock.ts'
import { invalid } from '../../../src/lib/failure.ts'
import type { Author } from '../../../src/storage/change-set.ts'
import { ChangeSet } from '../../../src/storage/change-set.ts'
import { createCollection } from '../../../src/storage/collection.ts'
import type { Database } from '../../../src/storage/db.ts'
import { createStore } from '../../../src/storage/store.ts'

export interface NoteDoc {
  title: string
  /** Only one note of an account may have it. */
  slot?: string
  owner?: string
  [more: string]: unknown
}

export const author: Author = {
  requestId: 'a-request',
  clientAddress: '192.0.2.7',
  authAccountId: 'somebody',
}

export const slotTaken = (slot: string) => ({ slot: { unique: { message: 'taken', cause: slot } } })

/** The entries of one record in the change feed, oldest first. */
export interface FeedEntry {
  action: string
  at: number
  author: string
  before_doc: string | null
  after_doc: string | null
  /** JSON text: what an edit made another value of. */
  changes: string | null
  record_name: string | null
}

/** The store of notes on an open database. */
export const openNotes = (db: Database, clock: Clock) => {
  const store = createStore(db, clock)
  store.sealing.use(createKeyring(Buffer.alloc(32, 7)))
  const notes = createCollection<NoteDoc, { mark?: string }>(store, {
    kind: 'note',
    sortKey: (doc) => doc.title,
    ownerId: (doc) => doc.owner ?? '',
    row: ({ title }) => ({ title }),
    claims: ({ accountId, doc: { slot } }) =>
      slot === undefined
        ? []
        : [{ scope: accountId, name: 'slot', value: slot, orElse: () => invalid(slotTaken(slot)) }],
  })

  const add = async (accountId: string, doc: NoteDoc, id?: string) => {
    const note = notes.draft(accountId, { doc, hidden: {} }, id)
    const set = new ChangeSet(author)
    notes.insert(set, note)
    await store.commit(set)
    return note
  }

  type Note = Awaited<ReturnType<typeof add>>

  return {
    store,
    notes,
    add,

    async change(note: Note, doc: NoteDoc) {
      const changed = notes.revise(note, { doc })
      const set = new ChangeSet(author)
      notes.replace(set, note, changed)
      await store.commit(set)
      return changed
    },

    async remove(note: Note) {
      const set = new ChangeSet(author)
      notes.remove(set, note)
      await store.commit(set)
    },

    audit: (accountId: string) =>
      store.all<FeedEntry>(
        'SELECT action, at, author, before_doc, after_doc, changes, record_name FROM audit_log WHERE account_id = $1 ORDER BY id',
        [accountId],
      ),

    events: (accountId: string) =>
      store.all<{ event: string; kind: string; record_id: string }>(
        'SELECT event, kind, record_id FROM audit_log WHERE account_id = $1 ORDER BY id',
        [accountId],
      ),
  }
}

export type Notes = ReturnType<typeof openNotes>
