import { passwordResetKind } from '../../../auth/identity.ts'
import { newId } from '../../../lib/ids.ts'
import { type Author, conflict, systemScope } from '../../../storage/change-set.ts'
import { createCollection } from '../../../storage/collection.ts'
import type { Statement } from '../../../storage/db.ts'
import type { StoredRecord } from '../../../storage/records.ts'
import type { Store } from '../../../storage/store.ts'
import { integer, json, type RowOf, table, text } from '../../../storage/table.ts'

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

const requestsOf = <Request>() =>
  table('recovery_requests', {
    id: text(),
    request: json<Request>(),
    author: json<Author>(),
    tries: integer(),
  })

/** A request for a way back in that nobody has looked at yet. */
export type WaitingRequest<Request> = RowOf<ReturnType<typeof requestsOf<Request>>>

/** Requests that wait to be looked at, oldest first. */
export const createRequestRows = <Request>({ all, writeUnrecorded, clock }: Store) => {
  const requests = requestsOf<Request>()
  const insert = requests.insert()

  const removal = (id: string): Statement => ({
    sql: 'DELETE FROM recovery_requests WHERE id = $1',
    params: [id],
    // Whoever looked at it first has answered it.
    expect: { rows: 1, orElse: conflict },
  })

  return {
    add: (author: Author, request: Request) =>
      writeUnrecorded([insert({ id: newId(clock.now()), request, author, tries: 0 })]),

    async after(id: string, limit: number): Promise<WaitingRequest<Request>[]> {
      return requests.list(
        await all(`SELECT ${requests.columns} FROM recovery_requests WHERE id > $1 ORDER BY id LIMIT $2`, [
          id,
          limit,
        ]),
      )
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
