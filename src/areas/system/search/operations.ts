import type { Store } from '../../../storage/store.ts'
import type { SearchQuery, SearchType } from './rules.ts'
import { type AccountField, createSearchStore, type Hit, type SearchPage } from './store.ts'

/** Claims by type and field. */
const claimsOf: Readonly<Record<Exclude<SearchType, 'account'>, Readonly<Record<string, string>>>> = {
  user: { name: 'user_name', username: 'username' },
  device: { name: 'device_name' },
}

export type Search = ReturnType<typeof createSearch>

export const createSearch = (store: Store) => {
  const rows = createSearchStore(store)

  return {
    /** Sub-accounts, or users and devices of the account. */
    find({ type, field, prefix }: SearchQuery, page: Omit<SearchPage, 'prefix'>): Promise<Hit[]> {
      const wanted = { ...page, prefix }
      if (type === 'account') return rows.accounts(field as AccountField, wanted)
      return rows.byClaim(claimsOf[type][field] as string, wanted)
    },
  }
}
