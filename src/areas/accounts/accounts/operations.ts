import {
  type AccountDoc,
  type AccountRecord,
  type Actor,
  isAbove,
  isAccountAdmin,
  isSuperduper,
  isWithin,
  keyMarkOf,
} from '../../../auth/identity.ts'
import { sha256Hex } from '../../../auth/keyring.ts'
import { failure, forbidden, invalid, invalidMethod, type Problems } from '../../../lib/failure.ts'
import { gregorianNow } from '../../../lib/gregorian.ts'
import { isId, newId, randomHex } from '../../../lib/ids.ts'
import type { Json } from '../../../lib/json.ts'
import type { CreationNotice } from '../../../mail/notices.ts'
import { crossbarSettings } from '../../../settings/documents.ts'
import { type Author, ChangeSet, type Claim, type ClaimHolder } from '../../../storage/change-set.ts'
import { holderOf } from '../../../storage/records.ts'
import type { DepsOf } from '../../area.ts'
import { createAccountImporter } from './adoption.ts'
import { accountHasDescendants } from './failures.ts'
import { createHostNames } from './host-names/operations.ts'
import { claimantOf } from './host-names/rules.ts'
import { newAccountNotice } from './notices.ts'
import {
  completeCallerId,
  edgeProblems,
  isInSubtree,
  isName,
  nameKey,
  publicHalf,
  treeAfterMove,
  trialValues,
  visibleAncestors,
} from './rules.ts'
import { accountsSettings } from './settings.ts'
import { accountChanged, accountDeleted } from './signals.ts'
import {
  apiKeyClaim,
  createAccountStore,
  nameClaim,
  nameTaken,
  nameWithoutLetters,
  realmClaim,
  realmTaken,
  type TreePage,
} from './store.ts'

/** What an ancestor, or the operator, may change of an account besides its public half. */
export interface Privileged {
  enabled?: boolean
  isSuperduper?: boolean
  allowsNumberAdditions?: boolean
  /** Gregorian seconds; undefined: the account is no trial any more. */
  trialExpires?: number | undefined
}

type AddUser = (set: ChangeSet, account: AccountRecord) => Promise<void>

const isOther = (holder: ClaimHolder | undefined, own: AccountRecord | undefined) =>
  holder !== undefined && holder.id !== own?.id

/** The account that is changed, or the parent of a new one. */
type Subject = { own: AccountRecord; parent?: undefined } | { own?: undefined; parent: AccountRecord }

export type Accounts = ReturnType<typeof createAccounts>

export const createAccounts = ({
  store,
  settings,
  keyring,
  mail,
}: DepsOf<'store' | 'settings' | 'keyring' | 'mail'>) => {
  const accounts = createAccountStore(store)
  const adopting = createAccountImporter({ store, keyring })
  const hostNames = createHostNames({ store, settings })
  const { records, clock } = store

  const freshRealm = async (master: AccountRecord | undefined) => {
    const { account_realm_suffix: suffix } = await settings.of(accountsSettings)
    return `${randomHex(3)}.${suffix ?? master?.doc.realm ?? 'localhost'}`
  }

  const topOf = (account: AccountRecord) => {
    const [id] = account.hidden.tree
    return id === undefined ? Promise.resolve(account) : accounts.find(id, id)
  }

  const parentOf = ({ hidden: { tree } }: AccountRecord) => {
    const id = tree.at(-1)
    return id === undefined ? Promise.resolve(undefined) : accounts.find(id, id)
  }

  /** What an account that does not say it has from the account above it, or from the operator. */
  const inherited = async (parent: AccountRecord | undefined, master: AccountRecord | undefined) => {
    const reseller = parent === master ? undefined : parent
    const { default_timezone: timezone } = await settings.of(accountsSettings)
    const { default_language: language } = await settings.of(crossbarSettings)
    return {
      timezone: reseller?.doc.timezone ?? timezone ?? master?.doc.timezone ?? 'UTC',
      language: parent?.doc.language ?? language,
    }
  }

  /** What an account always has: what it does not say itself, the account above it does, or the operator. */
  const withStandards = async (doc: AccountDoc, parent: AccountRecord | undefined) => {
    const master = parent && (await topOf(parent))
    const { timezone, language } = await inherited(parent, master)
    return {
      ...doc,
      realm: doc.realm ? doc.realm.replaceAll(' ', '') : await freshRealm(master),
      timezone: doc.timezone ?? timezone,
      language: doc.language ?? language,
      caller_id: completeCallerId(doc.caller_id),
    }
  }

  const nameProblems = async (name: string, own: AccountRecord | undefined): Promise<Problems> => {
    if (!isName(name) && name !== own?.doc.name) return nameWithoutLetters(name)
    const { ensure_unique_name: isUnique } = await settings.of(accountsSettings)
    if (!isUnique || nameKey(name) === nameKey(own?.doc.name ?? '')) return {}
    return isOther(await records.claimant(nameClaim(nameKey(name))), own) ? nameTaken(name) : {}
  }

  /** A realm is a host name, too: the owners of names above and below it must be related accounts. */
  const realmProblems = async (realm: string, { own, parent }: Subject): Promise<Problems> => {
    if (isOther(await records.claimant(realmClaim(realm)), own)) return realmTaken(realm)
    if (realm.toLowerCase() === own?.doc.realm.toLowerCase()) return {}
    const tree = parent ? [...parent.hidden.tree, parent.id] : []
    const claimant = own ? claimantOf(own) : { id: undefined, tree }
    return hostNames.realmProblems(claimant, 'realm', realm)
  }

  /** The name's claim: with uniqueness off, whoever comes later claims the name and the own id behind it. */
  const nameClaimOf = async (name: string, id: string, own: AccountRecord | undefined) => {
    const key = nameKey(name)
    const { ensure_unique_name: isUnique } = await settings.of(accountsSettings)
    if (isUnique) return key
    return isOther(await records.claimant(nameClaim(key)), own) ? `${key}/${id}` : key
  }

  const freshApiKey = (id: string) => {
    const key = randomHex(32)
    return { sealedApiKey: keyring.seal(key, `api_key/${id}`), apiKeyHash: sha256Hex(key) }
  }

  /** The nearest one above; the top where there is none. */
  const resellerIn = async (tree: readonly string[]) => {
    for (const id of tree.toReversed()) if ((await accounts.find(id, id))?.hidden.isReseller) return id
    return tree[0] ?? ''
  }

  const save = async (author: Author, before: AccountRecord, after: AccountRecord) => {
    const set = new ChangeSet(author)
    accounts.replace(set, before, after)
    set.tell(accountChanged, { before, after })
    await store.commit(set)
    return after
  }

  const withHidden = (account: AccountRecord, hidden: Partial<AccountRecord['hidden']>) =>
    accounts.revise(account, { hidden: { ...account.hidden, ...hidden } })

  const draft = async (
    parent: AccountRecord | undefined,
    data: Json,
    hidden: Partial<AccountRecord['hidden']>,
  ) => {
    const id = newId(clock.now())
    const doc = publicHalf(data)
    return accounts.draft(
      id,
      {
        doc: await withStandards(doc, parent),
        hidden: {
          tree: parent ? [...parent.hidden.tree, parent.id] : [],
          isReseller: false,
          isSuperduper: false,
          allowsNumberAdditions: false,
          enabled: parent?.hidden.enabled ?? true,
          signatureSecret: randomHex(32),
          signInSalt: randomHex(16),
          nameClaim: await nameClaimOf(doc.name, id, undefined),
          ...freshApiKey(id),
          ...hidden,
        },
      },
      id,
    )
  }

  const announce = (set: ChangeSet, { id, doc }: AccountRecord, parent: AccountRecord) =>
    mail.notify(set, {
      notice: newAccountNotice,
      account: parent,
      to: [],
      values: { 'new_account.id': id, 'new_account.name': doc.name, 'new_account.realm': doc.realm },
    })

  const rename = async (account: AccountRecord, data: Json) => {
    const parent = await parentOf(account)
    const wanted = publicHalf(data)
    const doc = await withStandards({ ...wanted, realm: wanted.realm || account.doc.realm }, parent)
    const claim =
      nameKey(doc.name) === nameKey(account.doc.name)
        ? account.hidden.nameClaim
        : await nameClaimOf(doc.name, account.id, account)
    return { doc, claim }
  }

  const standardsFor = async (account: AccountRecord, missing: readonly ('timezone' | 'language')[]) => {
    const parent = await parentOf(account)
    const standards = await inherited(parent, parent && (await topOf(parent)))
    return Object.fromEntries(missing.map((name) => [name, standards[name]]))
  }

  return {
    hostNames,
    find: (id: string) => (isId(id) ? accounts.find(id, id) : Promise.resolve(undefined)),
    get: (id: string) => accounts.get(id, id),
    counted: accounts.counted,

    /** How accounts of another system are taken in, with what others do about it. */
    adoption: adopting.adoption,
    replaceMaster: adopting.replaceMaster,
    keepLimits: adopting.keepLimits,
    /** The nearest reseller above; the master account answers for itself. */
    resellerOf: async (account: AccountRecord) =>
      account.hidden.tree.length === 0 ? account.id : resellerIn(account.hidden.tree),

    /** What the schema cannot check: names and realms of other accounts, and invalid lists. */
    async judge(data: Json, subject: Subject): Promise<Problems> {
      const { name, realm } = data
      const { own } = subject
      return {
        ...(typeof name === 'string' ? await nameProblems(name, own) : {}),
        ...(typeof realm === 'string' ? await realmProblems(realm.replaceAll(' ', ''), subject) : {}),
        ...edgeProblems(data as Partial<AccountDoc>, own?.doc),
      }
    },

    /**
     * A sub-account. It starts enabled if its parent is, with an API key and secrets of its own. The parent's admins
     * are told by mail if `notice` says so.
     */
    async create(
      author: Author,
      parent: AccountRecord,
      data: Json,
      { notice, ...hidden }: { notice: CreationNotice } & Pick<Privileged, 'trialExpires'>,
    ): Promise<AccountRecord> {
      const { allow_subaccounts_for_direct: allowed } = await settings.of(accountsSettings)
      if (!allowed && parent.hidden.tree.length === 1) {
        throw invalid({
          account: { forbidden: { message: 'Sub-accounts are not allowed here', cause: parent.id } },
        })
      }
      const account = await draft(parent, data, hidden)
      const set = new ChangeSet(author)
      accounts.insert(set, account, parent)
      set.tell(accountChanged, { before: undefined, after: account })
      if (notice === 'mail') await announce(set, account, parent)
      await store.commit(set)
      return account
    },

    /** The first account of a store and its admin, in one write that only one of several processes can make. */
    async createMaster(author: Author, data: Json, claim: Claim, addAdmin: AddUser): Promise<AccountRecord> {
      const hidden = { isReseller: true, isSuperduper: true, allowsNumberAdditions: true }
      const master = await draft(undefined, data, hidden)
      const set = new ChangeSet(author)
      accounts.insert(set, master, undefined)
      set.claim(claim, holderOf(master))
      await addAdmin(set, master)
      await store.commit(set)
      return master
    },

    /** Replaces the public half; `privileged` changes what is kept apart. */
    async replace(author: Author, account: AccountRecord, data: Json, privileged: Privileged = {}) {
      const { doc, claim } = await rename(account, data)
      const hidden = { ...account.hidden, ...privileged, nameClaim: claim }
      return save(author, account, accounts.revise(account, { doc, hidden }))
    },

    /** What is told of an account that is on trial: it changes every second. */
    trialOf: ({ hidden }: AccountRecord): Json => trialValues(hidden.trialExpires, gregorianNow(clock)),

    /** The timezone and language of an imported account that has none of its own. */
    async unsaid(account: AccountRecord): Promise<Json> {
      const missing = (['timezone', 'language'] as const).filter((name) => account.doc[name] === undefined)
      return missing.length === 0 ? {} : standardsFor(account, missing)
    },

    async remove(author: Author, actor: Actor, account: AccountRecord) {
      if (account.hidden.tree.length === 0) throw failure(invalidMethod, { allow: ['GET', 'PATCH', 'POST'] })
      if (account.id === actor.accountId) {
        throw failure(forbidden, { message: 'deleting your own account is forbidden', cause: account.id })
      }
      if (account.tally > 0) throw failure(accountHasDescendants, { cause: account.id })
      const set = new ChangeSet(author)
      await accounts.remove(set, account)
      set.tell(accountDeleted, account)
      await store.commit(set)
      return account
    },

    page: (page: TreePage) => accounts.page(page),
    shown: (page: TreePage) => accounts.shown(page),
    fitting: (page: TreePage, bytes: number) => accounts.fitting(page, bytes),
    descendants: (account: AccountRecord) => accounts.descendants(account.id),

    /** The accounts above, top first, from the caller's own downwards. */
    async ancestors(actor: Actor, account: AccountRecord): Promise<AccountRecord[]> {
      const ids = visibleAncestors(account.hidden.tree, actor.accountId, isSuperduper(actor))
      return Promise.all(ids.map((id) => accounts.get(id, id)))
    },

    async assertSiblingsVisible(actor: Actor, account: AccountRecord) {
      if (isSuperduper(actor)) return
      const { allow_sibling_listing: allowed } = await settings.of(accountsSettings)
      if (allowed && account.id !== actor.accountId) return
      throw failure(forbidden, {
        cause: 'siblings are listed by whoever is above, where the operator allows it',
      })
    },

    apiKeyOf: (account: AccountRecord) => keyring.open(account.hidden.sealedApiKey, `api_key/${account.id}`),

    /** The account that holds an API key. */
    async byApiKey(key: string): Promise<AccountRecord | undefined> {
      const holder = await records.claimant(apiKeyClaim(sha256Hex(key)))
      return holder && accounts.find(holder.id, holder.id)
    },

    byRealm: (realm: string): Promise<AccountRecord | undefined> => accounts.holder(realmClaim(realm)),

    /** All accounts of a name: several when names need not be unique. */
    async byName(name: string): Promise<AccountRecord[]> {
      const key = nameKey(name)
      if (key === '') return []
      const first = await records.claimant(nameClaim(key))
      const others = await records.claimants(nameClaim('').scope, 'account_name', `${key}/`, 20)
      const holders = first ? [first, ...others] : others
      const found = await Promise.all(holders.map(({ id }) => accounts.find(id, id)))
      return found.filter((account) => account !== undefined)
    },

    /** Makes a new API key. The old one stops working; its sessions continue unless `endsSessions`. */
    async resetApiKey(author: Author, account: AccountRecord, { endsSessions }: { endsSessions: boolean }) {
      const endedKeySessions = { before: Math.floor(clock.now() / 1000), mark: keyMarkOf(account) }
      const hidden = { ...freshApiKey(account.id), ...(endsSessions ? { endedKeySessions } : {}) }
      return save(author, account, withHidden(account, hidden))
    },

    /** Ends every session of the account and its users. */
    async resetSignatureSecret(author: Author, account: AccountRecord) {
      return save(author, account, withHidden(account, { signatureSecret: randomHex(32) }))
    },

    async assertMayMove(actor: Actor, account: AccountRecord, target: AccountRecord) {
      if (isSuperduper(actor)) return
      const { allow_move: rule } = await settings.of(accountsSettings)
      const isCommon = isAbove(actor, account) && isWithin(actor, target)
      if (rule === 'tree' && isCommon) return
      throw failure(forbidden, {
        cause:
          'accounts are moved by the operator, or, where allow_move is tree, by whoever is above both places',
      })
    },

    /** Puts the account, with all below it, under another parent. */
    async move(author: Author, account: AccountRecord, target: AccountRecord) {
      if (isInSubtree(account, target))
        throw failure(forbidden, { cause: 'an account cannot move into itself' })
      const tree = [...target.hidden.tree, target.id]
      const after = withHidden(account, { tree })
      const descendants: [AccountRecord, AccountRecord][] = []
      for await (const batch of accounts.descendants(account.id)) {
        for (const old of batch) {
          descendants.push([old, withHidden(old, { tree: treeAfterMove(old.hidden.tree, account.id, tree) })])
        }
      }
      const set = new ChangeSet(author)
      accounts.move(set, account, after, target, descendants)
      await store.commit(set)
      return accounts.get(account.id, account.id)
    },

    /** Promotes to reseller, or demotes. A reseller below would change hands by it: refused. */
    async setReseller(author: Author, account: AccountRecord, isReseller: boolean) {
      if (account.hidden.tree.length === 0) {
        throw failure(forbidden, { cause: 'the master account is a reseller for good' })
      }
      for await (const batch of accounts.descendants(account.id)) {
        if (batch.some((below) => below.hidden.isReseller)) {
          throw failure(accountHasDescendants, { cause: account.id })
        }
      }
      if (account.hidden.isReseller === isReseller) return account
      return save(author, account, withHidden(account, { isReseller }))
    },

    /** Whether the caller may set what only the operator sets: an admin of the master account. */
    isOperator: (actor: Actor) => actor.account.hidden.tree.length === 0 && isAccountAdmin(actor),
  }
}
