import { passwordResetKind } from '../../../auth/identity.ts'
import { newId } from '../../../lib/ids.ts'
import { type Author, conflict, systemScope } from '../../../storage/change-set.ts'
import { createCollection } from '../../../storage/collection.ts'
import type { Statement } from '../../../storage/db.ts'
import type { StoredRecord } from '../../../storage/records.ts'
import type { Store } from '../../../storage/store.ts'

/** A reset id that was mailed: it is stored only as its digest. */
interface Reset {
  hash: string
  /** Gregorian seconds. */
  expires: number
}

interface ResetHidden {
  resets: readonly Reset[]
}

export type ResetRecord = StoredRecord<object, ResetHidden>

export const resetClaim = (hash: string) => ({ scope: systemScope, name: 'reset_id', value: hash })

/** The reset ids of a user; the record has the user's id. */
export const createResetStore = (store: Store) =>
  createCollection<object, ResetHidden>(store, {
    kind: passwordResetKind,
    sortKey: (_doc, id) => id,
    row: () => ({}),
    claims: ({ hidden }) => hidden.resets.map(({ hash }) => ({ ...resetClaim(hash), orElse: conflict })),
  })

/** A request for a way back in that nobody has looked at yet. */
export interface WaitingRequest<Request> {
  id: string
  request: Request
  author: Author
  tries: number
}

const insertSql = 'INSERT INTO recovery_requests (id, request, author, tries) VALUES ($1, $2, $3, 0)'
const selectSql =
  'SELECT id, request, author, tries FROM recovery_requests WHERE id > $1 ORDER BY id LIMIT $2'

/** Requests that wait to be looked at, oldest first. */
export const createRequestRows = <Request>({ all, writeUnrecorded, clock }: Store) => {
  const removal = (id: string): Statement => ({
    sql: 'DELETE FROM recovery_requests WHERE id = $1',
    params: [id],
    // Whoever looked at it first has answered it.
    expect: { rows: 1, orElse: conflict },
  })

  return {
    add: (author: Author, request: Request) =>
      writeUnrecorded([
        { sql: insertSql, params: [newId(clock.now()), JSON.stringify(request), JSON.stringify(author)] },
      ]),

    async after(id: string, limit: number): Promise<WaitingRequest<Request>[]> {
      const rows = await all(selectSql, [id, limit])
      return rows.map((row) => ({
        id: row.id as string,
        request: JSON.parse(row.request as string) as Request,
        author: JSON.parse(row.author as string) as Author,
        tries: row.tries as number,
      }))
    },

    async isAny() {
      return (await all('SELECT id FROM recovery_requests LIMIT 1')).length > 0
    },

    /** Part of the write that answers the request. */
    removal,

    remove: (id: string) => writeUnrecorded([removal(id)]),

    noteFailure: (id: string) =>
      writeUnrecorded([
        { sql: 'UPDATE recovery_requests SET tries = tries + 1 WHERE id = $1', params: [id] },
      ]),
  }
}
