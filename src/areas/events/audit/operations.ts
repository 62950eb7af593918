import { type AccountHidden, type AccountRecord, accountKind } from '../../../auth/identity.ts'
import type { Feed } from '../../../events/feed.ts'
import { badIdentifier, failure } from '../../../lib/failure.ts'
import { systemScope } from '../../../storage/change-set.ts'
import { StoredRecord } from '../../../storage/records.ts'
import type { Store } from '../../../storage/store.ts'
import { type AuditEntry, type AuditPlace, type AuditQuery, createAuditStore } from './store.ts'
import { treeIn } from './views.ts'

export type Audit = ReturnType<typeof createAudit>

/** A deleted account as its audit shows it: parent accounts may still read that. */
const departedAccount = (id: string, name: string, tree: readonly string[]): AccountRecord => {
  const hidden: AccountHidden = {
    tree,
    isReseller: false,
    isSuperduper: false,
    allowsNumberAdditions: false,
    enabled: false,
    signatureSecret: '',
    signInSalt: '',
    sealedApiKey: '',
    apiKeyHash: '',
    nameClaim: '',
  }
  return new StoredRecord({
    accountId: id,
    kind: accountKind,
    id,
    ownerId: '',
    sortKey: '',
    created: 0,
    modified: 0,
    revision: '',
    docText: JSON.stringify({ name, realm: '' }),
    hiddenText: JSON.stringify(hidden),
    rowText: '',
  })
}

export const createAudit = ({ store, feed }: { store: Store; feed: Pick<Feed, 'settled'> }) => {
  const rows = createAuditStore(store)

  return {
    settled: feed.settled,

    /** The first page waits until earlier commits are in the log. */
    async page(wanted: AuditQuery, place: AuditPlace) {
      if (place.after === undefined && place.descending) await feed.settled()
      return rows.page(wanted, place)
    },

    /** Throws a 404 that names the id. */
    async get(accountId: string, id: string): Promise<AuditEntry> {
      await feed.settled()
      const entry = await rows.find(accountId, id)
      if (!entry) throw failure(badIdentifier, { cause: id })
      return entry
    },

    async knows(wanted: Required<Pick<AuditQuery, 'accountId' | 'kind' | 'recordId'>>): Promise<boolean> {
      await feed.settled()
      const { items } = await rows.page(wanted, { limit: 1, descending: true, long: false })
      return items.length > 0
    },

    /** The master account: it has the audit of records that belong to no account. */
    async sharedAccountId(): Promise<string> {
      const standing = await store.standingOf(systemScope)
      if (!standing) throw new Error('there is no master account')
      return standing.accountId
    },

    async departed(accountId: string): Promise<AccountRecord | undefined> {
      await feed.settled()
      const left = await rows.departed(accountId)
      return left && departedAccount(accountId, left.name, treeIn(left.tree))
    },
  }
}
