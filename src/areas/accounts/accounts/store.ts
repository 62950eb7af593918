import {
  type AccountDoc,
  type AccountHidden,
  type AccountRecord,
  accountKind,
} from '../../../auth/identity.ts'
import { hostNameOf } from '../../../lib/host-name.ts'
import { searchKey } from '../../../lib/search-key.ts'
import { fingerprint } from '../../../lib/secrets.ts'
import { type ChangeSet, conflict, systemScope } from '../../../storage/change-set.ts'
import { type CollectionDefinition, createCollection, type StoredClaim } from '../../../storage/collection.ts'
import type { Row, Statement } from '../../../storage/db.ts'
import {
  deleteRecord,
  fittingIn,
  type PageQuery,
  recordColumns,
  sortKeyOf,
  weightColumn,
} from '../../../storage/records.ts'
import type { Store } from '../../../storage/store.ts'
import { accountsOfTreeSql, integer, keyset, type RowOf, shape, text } from '../../../storage/table.ts'
import { hostNameClaim } from './host-names/rules.ts'
import { Account } from './schema.ts'
import { accountMoved } from './signals.ts'

const systemClaim = (name: string) => (value: string) => ({ scope: systemScope, name, value })
export const nameClaim = systemClaim('account_name')
export const realmClaim = (realm: string) => systemClaim('realm')(realm.toLowerCase())
export const apiKeyClaim = systemClaim('api_key')

// After a lost race the request is validated again: a name is then refused or gets the ID as suffix, and a
// generated realm is drawn again.
const accountClaims = ({ id, doc, hidden }: AccountRecord): StoredClaim[] => {
  const host = hostNameOf(doc.realm)
  return [
    { ...nameClaim(hidden.nameClaim), orElse: conflict },
    { ...realmClaim(doc.realm), orElse: conflict },
    { ...apiKeyClaim(hidden.apiKeyHash), orElse: conflict },
    ...(host === undefined
      ? []
      : [{ scope: systemScope, ...hostNameClaim(host, id, 'realm'), orElse: conflict }]),
  ]
}

export interface TreePage extends Omit<PageQuery, 'accountId' | 'kind' | 'ownerId'> {
  /** The account whose sub-accounts are listed. */
  ancestorId: string
  direct: boolean
}

/** Distance 1 is a range: for an equality PostgreSQL may plan a walk over all accounts below. */
const treeSql = ({ direct, after, descending }: TreePage, selected: string) => {
  const keys = [...(direct ? ['t.distance'] : []), 't.sort_key', 't.account_id']
  const begin = after ? [keyset(keys, descending).behind(3)] : []
  const bounds = after ? [descending ? 't.distance >= 1' : 't.distance <= 1'] : ['t.distance BETWEEN 1 AND 1']
  const where = ['t.ancestor_id = $1', ...begin, ...(direct ? bounds : [])].join(' AND ')
  return accountsOfTreeSql(selected, { where, keys, descending, limit: '$2' })
}

const ofRecord = { id: text(), sortKey: text(), rowText: text('row_json'), tally: integer() }
const recordShape = shape(ofRecord)
const shownShape = shape({ ...ofRecord, treeText: text() })

export type ShownAccount = RowOf<typeof shownShape>

/** The sort key of an account in the tree, and its search keys. */
const treeKeys = ({ sortKey, doc }: AccountRecord) => [sortKey, searchKey(doc.name), searchKey(doc.realm)]

/** Key with which commits announce that the lists of sub-accounts of an account have changed. */
export const accountsBelow = 'accounts_below'

const isAccount = "account_id = $1 AND kind = 'account' AND id = $1"
const once = { rows: 1, orElse: conflict }

const outdateLists = (set: ChangeSet, ids: readonly string[]) => {
  // Each process gets the names of stale records, as long as they fit. These have no ID.
  for (const id of ids) set.outdate(id, accountsBelow, '')
}

/** Changes the count of sub-accounts of each account in `tree`: their lists, and those of accounts above, show it. */
const count = (set: ChangeSet, tree: readonly string[], by: number, expect?: Statement['expect']) => {
  for (const id of tree)
    set
      .run(`UPDATE records SET tally = tally + $2 WHERE ${isAccount}`, [id, by], expect)
      .outdate(id, accountKind, id)
  outdateLists(set, tree)
}

const plant = (set: ChangeSet, account: AccountRecord) => {
  for (const [index, ancestor] of account.hidden.tree.entries())
    set.run(
      `INSERT INTO account_tree (account_id, ancestor_id, distance, sort_key, name_key, realm_key)
        VALUES ($1, $2, $3, $4, $5, $6)`,
      [account.id, ancestor, account.hidden.tree.length - index, ...treeKeys(account)],
    )
}

const uproot = (set: ChangeSet, account: AccountRecord) =>
  set.run('DELETE FROM account_tree WHERE account_id = $1', [account.id])

/** Writes the new places of an account and of those below it: stored records, with what they become. */
const transplant = (set: ChangeSet, after: AccountRecord, below: Moved) => {
  for (const [old, moved] of below)
    set
      .run(
        `UPDATE records SET hidden = $3, revision = $4 WHERE ${isAccount} AND revision = $2`,
        [old.id, old.revision, moved.hiddenText, moved.revision],
        once,
      )
      .outdate(old.id, accountKind, old.id)
  // The lists below each of them show the accounts above.
  outdateLists(set, [after.id, ...below.map(([{ id }]) => id)])
  for (const account of [after, ...below.map(([, moved]) => moved)]) {
    uproot(set, account)
    plant(set, account)
  }
}

/** Fails the change set unless the account is still as it was read. */
const hold = (set: ChangeSet, { id, revision }: AccountRecord) =>
  set.run(`UPDATE records SET revision = revision WHERE ${isAccount} AND revision = $2`, [id, revision], once)

/** Stored accounts, each with what it becomes. */
type Moved = readonly (readonly [AccountRecord, AccountRecord])[]

const definition: CollectionDefinition<AccountDoc, AccountHidden> = {
  kind: accountKind,
  secrets: () => Account,
  sortKey: (doc) => sortKeyOf(doc.name),
  row: (doc) => ({ name: doc.name, realm: doc.realm, flags: doc.flags ?? [] }),
  claims: accountClaims,
  counts: () => [['accounts', 'account']],
  audited: (hidden) => ({
    tree: hidden.tree,
    enabled: hidden.enabled,
    ...(hidden.trialExpires === undefined ? {} : { trial_expires: hidden.trialExpires }),
    is_reseller: hidden.isReseller,
    superduper_admin: hidden.isSuperduper,
    wnm_allow_additions: hidden.allowsNumberAdditions,
    api_key: fingerprint(hidden.apiKeyHash),
    signature_secret: fingerprint(hidden.signatureSecret),
  }),
}

export type AccountStore = ReturnType<typeof createAccountStore>

/** Accounts and their tree: one row of `account_tree` for each pair of an account and an ancestor. */
export const createAccountStore = (store: Store) => {
  const collection = createCollection<AccountDoc, AccountHidden>(store, definition)

  const readTree = (page: TreePage, selected: string): Promise<Row[]> => {
    const begin = page.after ? [...(page.direct ? [1] : []), ...page.after] : []
    const params = [page.ancestorId, page.limit, ...begin]
    const sql = treeSql(page, selected)
    return page.long ? store.scan(sql, params) : store.all(sql, params)
  }

  const treePage = async (page: TreePage) =>
    store.records.of(accountKind, await readTree(page, recordColumns('r')))

  return {
    ...collection,
    page: treePage,

    withHidden: (account: AccountRecord, hidden: Partial<AccountHidden>) =>
      collection.revise(account, { hidden: { ...account.hidden, ...hidden } }),

    async shown(page: TreePage): Promise<ShownAccount[]> {
      // Only lists of all sub-accounts contain the parents of each.
      const tree = page.direct ? "''" : store.words.textAt('r.hidden', 'tree')
      return shownShape.list(await readTree(page, `${recordShape.columnsOf('r')}, ${tree} AS "treeText"`))
    },

    /** The number of accounts of a page that fit into this number of bytes. */
    fitting: async (page: TreePage, bytes: number) =>
      fittingIn(await readTree(page, weightColumn('r')), page.limit, bytes),

    async *descendants(ancestorId: string, batch = 500): AsyncGenerator<AccountRecord[]> {
      let after: readonly [string, string] | undefined
      for (;;) {
        const page = { ancestorId, direct: false, limit: batch, descending: false, long: true }
        const accounts = await treePage(after ? { ...page, after } : page)
        if (accounts.length > 0) yield accounts
        const last = accounts.at(-1)
        if (!last || accounts.length < batch) return
        after = [last.sortKey, last.id]
      }
    },

    /** A new account below `parent`, which must not be moved or deleted before the commit. */
    insert(set: ChangeSet, account: AccountRecord, parent: AccountRecord | undefined) {
      collection.insert(set, account)
      set.newcomers.set(account.id, { name: account.doc.name, tree: account.hidden.tree })
      if (parent) hold(set, parent)
      plant(set, account)
      count(set, account.hidden.tree, 1, once)
    },

    replace(set: ChangeSet, before: AccountRecord, after: AccountRecord) {
      collection.replace(set, before, after)
      if (before.rowText !== after.rowText) outdateLists(set, after.hidden.tree)
      if (treeKeys(before).join('\n') === treeKeys(after).join('\n')) return
      set.run('UPDATE account_tree SET sort_key = $2, name_key = $3, realm_key = $4 WHERE account_id = $1', [
        after.id,
        ...treeKeys(after),
      ])
    },

    /** Removes an account that has no sub-accounts, with everything it holds: each record leaves an audit entry. */
    async remove(set: ChangeSet, account: AccountRecord) {
      set.run(`UPDATE records SET tally = tally WHERE ${isAccount} AND tally = 0`, [account.id], once)
      for await (const held of store.records.everything(account.id))
        for (const record of held)
          if (record.id !== account.id || record.kind !== accountKind) deleteRecord(set, record)
      collection.remove(set, account)
      set.run('DELETE FROM records WHERE account_id = $1', [account.id], { rows: 0, orElse: conflict })
      set.run('DELETE FROM claims WHERE holder_account_id = $1', [account.id])
      set.transfers.push({ accountId: account.id, from: account.hidden.tree, to: undefined })
      uproot(set, account)
      count(set, account.hidden.tree, -1, once)
    },

    /** Puts an account and all below it in another place. */
    move(
      set: ChangeSet,
      before: AccountRecord,
      after: AccountRecord,
      newParent: AccountRecord,
      descendants: Moved,
    ) {
      const moving = before.tally + 1
      if (newParent.id !== before.id) hold(set, newParent)
      collection.replace(set, before, after)
      if (before.hidden.tree.at(-1) !== newParent.id) {
        set.transfers.push({ accountId: before.id, from: before.hidden.tree, to: after.hidden.tree })
        set.tell(accountMoved, { before, after })
      }
      transplant(set, after, descendants)
      count(set, before.hidden.tree, -moving, once)
      count(set, after.hidden.tree, moving, once)
    },

    /** The same for an imported account, whose former ancestors may be gone. Revisions of accounts below it stay. */
    transplant(set: ChangeSet, before: AccountRecord, after: AccountRecord, below: Moved) {
      collection.replace(set, before, after)
      transplant(set, after, below)
      for (const [, moved] of below) set.keep(moved, { isNew: false })
      // Some of those may be gone.
      count(set, before.hidden.tree, -below.length - 1)
      count(set, after.hidden.tree, below.length + 1, once)
    },
  }
}
