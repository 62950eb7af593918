import {
  type AccountHidden,
  type AccountRecord,
  type Actor,
  isAbove,
  isAccountAdmin,
  isSuperduper,
  isWithin,
} from '../../../auth/identity.ts'
import { sha256Hex } from '../../../auth/keyring.ts'
import { failure, forbidden, invalid, invalidMethod } from '../../../lib/failure.ts'
import { gregorianNow } from '../../../lib/gregorian.ts'
import { isId, randomHex } from '../../../lib/ids.ts'
import type { Json } from '../../../lib/json.ts'
import type { CreationNotice } from '../../../mail/notices.ts'
import type { Author, ChangeSet, Claim } from '../../../storage/change-set.ts'
import { holderOf } from '../../../storage/records.ts'
import { committed } from '../../../storage/store.ts'
import type { DepsOf } from '../../area.ts'
import { createAccountImporter } from './adoption.ts'
import { createDrafts, createNameRules } from './drafts.ts'
import { accountHasDescendants } from './failures.ts'
import { createHostNames } from './host-names/operations.ts'
import { newAccountNotice } from './notices.ts'
import { isInSubtree, nameKey, treeAfterMove, trialValues, visibleAncestors } from './rules.ts'
import { accountsSettings } from './settings.ts'
import { accountChanged, accountDeleted } from './signals.ts'
import { type AccountStore, apiKeyClaim, createAccountStore, nameClaim, realmClaim } from './store.ts'

/** What an ancestor, or the operator, may change of an account besides its public half. */
export type Privileged = Partial<
  Pick<AccountHidden, 'enabled' | 'isSuperduper' | 'allowsNumberAdditions' | 'trialExpires'>
>

type AddUser = (set: ChangeSet, account: AccountRecord) => Promise<void>

interface AccountDeps extends DepsOf<'store' | 'settings' | 'mail'> {
  accounts: AccountStore
  drafts: ReturnType<typeof createDrafts>
}

const save = (
  { store, accounts }: Pick<AccountDeps, 'store' | 'accounts'>,
  author: Author,
  before: AccountRecord,
  after: AccountRecord,
) =>
  committed(store, author, (set) => {
    accounts.replace(set, before, after)
    set.tell(accountChanged, { before, after })
    return after
  })

const createLookups = ({ store: { records }, accounts }: AccountDeps) => ({
  find: (id: string) => (isId(id) ? accounts.find(id, id) : Promise.resolve(undefined)),
  get: (id: string) => accounts.get(id, id),
  counted: accounts.counted,
  page: accounts.page,
  shown: accounts.shown,
  fitting: accounts.fitting,
  descendants: (account: AccountRecord) => accounts.descendants(account.id),

  /** The nearest reseller above, or the master account, which is its own reseller. */
  async resellerOf({ id: ownId, hidden: { tree } }: AccountRecord): Promise<string> {
    for (const id of tree.toReversed()) if ((await accounts.find(id, id))?.hidden.isReseller) return id
    return tree[0] ?? ownId
  },

  /** The accounts above, top first, from the caller's own downwards. */
  async ancestors(actor: Actor, account: AccountRecord): Promise<AccountRecord[]> {
    const ids = visibleAncestors(account.hidden.tree, actor.accountId, isSuperduper(actor))
    return Promise.all(ids.map((id) => accounts.get(id, id)))
  },

  async byApiKey(key: string): Promise<AccountRecord | undefined> {
    const holder = await records.claimant(apiKeyClaim(sha256Hex(key)))
    return holder && accounts.find(holder.id, holder.id)
  },

  byRealm: (realm: string): Promise<AccountRecord | undefined> => accounts.holder(realmClaim(realm)),

  /** All accounts of a name: several if names need not be unique. */
  async byName(name: string): Promise<AccountRecord[]> {
    const key = nameKey(name)
    if (key === '') return []
    const first = await records.claimant(nameClaim(key))
    const others = await records.claimants(nameClaim('').scope, 'account_name', `${key}/`, 20)
    const holders = first ? [first, ...others] : others
    const found = await Promise.all(holders.map(({ id }) => accounts.find(id, id)))
    return found.filter((account) => account !== undefined)
  },
})

const createTreeChanges = (deps: AccountDeps) => {
  const { store, settings, accounts } = deps

  return {
    async remove(author: Author, actor: Actor, account: AccountRecord) {
      if (account.hidden.tree.length === 0) throw failure(invalidMethod, { allow: ['GET', 'PATCH', 'POST'] })
      if (account.id === actor.accountId)
        throw failure(forbidden, { message: 'deleting your own account is forbidden', cause: account.id })
      if (account.tally > 0) throw failure(accountHasDescendants, { cause: account.id })
      return committed(store, author, async (set) => {
        await accounts.remove(set, account)
        set.tell(accountDeleted, account)
        return account
      })
    },

    async assertSiblingsVisible(actor: Actor, account: AccountRecord) {
      if (isSuperduper(actor)) return
      const { allow_sibling_listing: allowed } = await settings.of(accountsSettings)
      if (allowed && account.id !== actor.accountId) return
      const cause = 'only parent accounts may list siblings, if the operator allows it'
      throw failure(forbidden, { cause })
    },

    async assertMayMove(actor: Actor, account: AccountRecord, target: AccountRecord) {
      if (isSuperduper(actor)) return
      const { allow_move: rule } = await settings.of(accountsSettings)
      if (rule === 'tree' && isAbove(actor, account) && isWithin(actor, target)) return
      const cause =
        'only the operator may move accounts, or, if allow_move is tree, an account above both parents'
      throw failure(forbidden, { cause })
    },

    /** Puts the account, with all below it, under another parent. */
    async move(author: Author, account: AccountRecord, target: AccountRecord) {
      if (isInSubtree(account, target))
        throw failure(forbidden, { cause: 'an account cannot move into itself' })
      const tree = [...target.hidden.tree, target.id]
      const descendants: [AccountRecord, AccountRecord][] = []
      for await (const batch of accounts.descendants(account.id))
        for (const old of batch) {
          const moved = treeAfterMove(old.hidden.tree, account.id, tree)
          descendants.push([old, accounts.withHidden(old, { tree: moved })])
        }
      await committed(store, author, (set) =>
        accounts.move(set, account, accounts.withHidden(account, { tree }), target, descendants),
      )
      return accounts.get(account.id, account.id)
    },

    /** Promotes to reseller, or demotes. It is rejected if a reseller below would change hands. */
    async setReseller(author: Author, account: AccountRecord, isReseller: boolean) {
      if (account.hidden.tree.length === 0)
        throw failure(forbidden, { cause: 'the master account is always a reseller' })
      for await (const batch of accounts.descendants(account.id))
        if (batch.some((below) => below.hidden.isReseller))
          throw failure(accountHasDescendants, { cause: account.id })
      if (account.hidden.isReseller === isReseller) return account
      return save(deps, author, account, accounts.withHidden(account, { isReseller }))
    },
  }
}

const createCreation = ({ store, settings, mail, accounts, drafts }: AccountDeps) => ({
  /** Creates a sub-account. It starts enabled if its parent is. `notice` sends an email to the parent's admins. */
  async create(
    author: Author,
    parent: AccountRecord,
    data: Json,
    { notice, ...hidden }: { notice: CreationNotice } & Pick<Privileged, 'trialExpires'>,
  ): Promise<AccountRecord> {
    const { allow_subaccounts_for_direct: allowed } = await settings.of(accountsSettings)
    const message = 'Sub-accounts are not allowed here'
    if (!allowed && parent.hidden.tree.length === 1)
      throw invalid({ account: { forbidden: { message, cause: parent.id } } })
    const account = await drafts.draft(parent, data, hidden)
    const { id, doc } = account
    const values = { 'new_account.id': id, 'new_account.name': doc.name, 'new_account.realm': doc.realm }
    return committed(store, author, async (set) => {
      accounts.insert(set, account, parent)
      set.tell(accountChanged, { before: undefined, after: account })
      if (notice === 'mail')
        await mail.notify(set, { notice: newAccountNotice, account: parent, to: [], values })
      return account
    })
  },

  /** The first account of a store and its admin, in one write that only one of several processes can make. */
  async createMaster(author: Author, data: Json, claim: Claim, addAdmin: AddUser): Promise<AccountRecord> {
    const hidden = { isReseller: true, isSuperduper: true, allowsNumberAdditions: true }
    const master = await drafts.draft(undefined, data, hidden)
    return committed(store, author, async (set) => {
      accounts.insert(set, master, undefined)
      set.claim(claim, holderOf(master))
      await addAdmin(set, master)
      return master
    })
  },
})

export type Accounts = ReturnType<typeof createAccounts>

export const createAccounts = (given: DepsOf<'store' | 'settings' | 'keyring' | 'mail'>) => {
  const { store, keyring } = given
  const accounts = createAccountStore(store)
  const hostNames = createHostNames(given)
  const names = createNameRules({ ...given, hostNames })
  const drafts = createDrafts({ ...given, accounts, names })
  const deps = { ...given, accounts, drafts }

  return {
    hostNames,
    ...createAccountImporter(given),
    ...createLookups(deps),
    ...createCreation(deps),
    ...createTreeChanges(deps),
    judge: names.judge,
    unsaid: drafts.unsaid,

    /** Replaces the public half; `privileged` changes what only others may change. */
    async replace(author: Author, account: AccountRecord, data: Json, privileged: Privileged = {}) {
      const { doc, nameClaim: claim } = await drafts.replacement(account, data)
      const hidden = { ...account.hidden, ...privileged, nameClaim: claim }
      return save(deps, author, account, accounts.revise(account, { doc, hidden }))
    },

    /** The values of a trial, which change every second. */
    trialOf: ({ hidden }: AccountRecord): Json => trialValues(hidden.trialExpires, gregorianNow(store.clock)),

    apiKeyOf: (account: AccountRecord) => keyring.open(account.hidden.sealedApiKey, `api_key/${account.id}`),

    /** Makes a new API key. The old one stops working; its sessions continue unless `endsSessions`. */
    resetApiKey: (author: Author, account: AccountRecord, wish: { endsSessions: boolean }) =>
      save(deps, author, account, accounts.withHidden(account, drafts.freshKeyOf(account, wish))),

    resetSignatureSecret: (author: Author, account: AccountRecord) =>
      save(deps, author, account, accounts.withHidden(account, { signatureSecret: randomHex(32) })),

    /** Whether the caller may set what only the operator sets: an admin of the master account. */
    isOperator: (actor: Actor) => actor.account.hidden.tree.length === 0 && isAccountAdmin(actor),
  }
}
