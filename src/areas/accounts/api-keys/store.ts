import { type ApiKeyDoc, type ApiKeyHidden, type ApiKeyRecord, apiKeyKind } from '../../../auth/api-keys.ts'
import { accountKind } from '../../../auth/identity.ts'
import { type ChangeSet, type Claim, conflict, systemScope } from '../../../storage/change-set.ts'
import { createCollection } from '../../../storage/collection.ts'
import { requireRecord, sortKeyOf } from '../../../storage/records.ts'
import type { Store } from '../../../storage/store.ts'
import { integer, placeholders, shape, text } from '../../../storage/table.ts'

/** Keys are found by their ID only: a request does not name the account of its key. */
export const idClaim = (id: string): Claim => ({ scope: systemScope, name: 'named_api_key', value: id })

const keyUseShape = shape({ keyId: text(), usedAt: integer() })

export const createApiKeyStore = (store: Store) => {
  const collection = createCollection<ApiKeyDoc, ApiKeyHidden>(store, {
    kind: apiKeyKind,
    sortKey: (doc) => sortKeyOf(doc.name),
    row: ({ name, scopes, expires, networks }) => ({ name, scopes, expires, networks }),
    claims: ({ id }) => [{ ...idClaim(id), orElse: conflict }],
  })

  return {
    ...collection,

    insert(set: ChangeSet, key: ApiKeyRecord) {
      requireRecord(set, { accountId: key.accountId, kind: accountKind, id: key.accountId })
      collection.insert(set, key)
    },

    remove(set: ChangeSet, key: ApiKeyRecord) {
      collection.remove(set, key)
      set.run('DELETE FROM api_key_uses WHERE account_id = $1 AND key_id = $2', [key.accountId, key.id])
    },

    removeUses: (set: ChangeSet, accountId: string) =>
      set.run('DELETE FROM api_key_uses WHERE account_id = $1', [accountId]),

    /** When keys of an account were last used, in Gregorian seconds by id. */
    async usesOf(accountId: string, ids: readonly string[]): Promise<ReadonlyMap<string, number>> {
      if (ids.length === 0) return new Map()
      const rows = await store.all(
        `SELECT ${keyUseShape.columns} FROM api_key_uses
          WHERE account_id = $1 AND key_id IN (${placeholders(ids.length, 2)})`,
        [accountId, ...ids],
      )
      return new Map(keyUseShape.list(rows).map(({ keyId, usedAt }) => [keyId, usedAt]))
    },

    noteUse: ({ accountId, id }: ApiKeyRecord, usedAt: number) =>
      store.writeUnrecorded([
        {
          sql: `INSERT INTO api_key_uses (account_id, key_id, used_at)
            SELECT account_id, id, CAST($4 AS BIGINT) FROM records
              WHERE account_id = $1 AND kind = $2 AND id = $3
            ON CONFLICT (account_id, key_id) DO UPDATE SET used_at = excluded.used_at
              WHERE excluded.used_at > api_key_uses.used_at`,
          params: [accountId, apiKeyKind, id, usedAt],
        },
      ]),
  }
}
