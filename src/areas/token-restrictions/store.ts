import { createCollection } from '../../storage/collection.ts'
import type { Store } from '../../storage/store.ts'
import type { TokenRestrictions } from './schema.ts'

/** Every account has at most one; it has the account's id. */
export const createRestrictionStore = (store: Store) =>
  createCollection<TokenRestrictions, object>(store, {
    kind: 'token_restrictions',
    sortKey: (_doc, id) => id,
    row: () => ({}),
  })
