import { type AccountDoc, type AccountRecord, keyMarkOf } from '../../../auth/identity.ts'
import { type Keyring, sha256Hex } from '../../../auth/keyring.ts'
import type { Problems } from '../../../lib/failure.ts'
import { newId, randomHex } from '../../../lib/ids.ts'
import type { Json } from '../../../lib/json.ts'
import { crossbarSettings } from '../../../settings/documents.ts'
import type { Claim } from '../../../storage/change-set.ts'
import type { DepsOf } from '../../area.ts'
import type { HostNames } from './host-names/operations.ts'
import { claimantOf } from './host-names/rules.ts'
import { completeCallerId, edgeProblems, isName, nameKey, publicHalf } from './rules.ts'
import { accountsSettings } from './settings.ts'
import { type AccountStore, nameClaim, realmClaim } from './store.ts'

type AccountSubject = { own: AccountRecord; parent?: undefined } | { own?: undefined; parent: AccountRecord }

export const storedApiKey = (keyring: Keyring, accountId: string, key = randomHex(32)) => ({
  sealedApiKey: keyring.seal(key, `api_key/${accountId}`),
  apiKeyHash: sha256Hex(key),
})

interface NameDeps extends DepsOf<'store' | 'settings'> {
  hostNames: HostNames
}

/** Names and realms, which other accounts may have. */
export const createNameRules = ({ store: { records }, settings, hostNames }: NameDeps) => {
  const isTaken = async (claim: Claim, own: AccountRecord | undefined) => {
    const holder = await records.claimant(claim)
    return holder !== undefined && holder.id !== own?.id
  }

  const nameProblems = async (name: string, own: AccountRecord | undefined): Promise<Problems> => {
    if (!isName(name) && name !== own?.doc.name) {
      const message = 'A name needs at least one letter or digit'
      return { name: { invalid: { message, cause: name } } }
    }
    const { ensure_unique_name: isUnique } = await settings.of(accountsSettings)
    if (!isUnique || nameKey(name) === nameKey(own?.doc.name ?? '')) return {}
    if (!(await isTaken(nameClaim(nameKey(name)), own))) return {}
    return { name: { unique: { message: 'Account name already in use', cause: name } } }
  }

  /** A realm is a host name, too: the owners of names above and below it must be related accounts. */
  const realmProblems = async (realm: string, { own, parent }: AccountSubject): Promise<Problems> => {
    if (await isTaken(realmClaim(realm), own))
      return { realm: { unique: { message: 'Account realm already in use', cause: realm } } }
    if (realm.toLowerCase() === own?.doc.realm.toLowerCase()) return {}
    const tree = parent ? [...parent.hidden.tree, parent.id] : []
    const claimant = own ? claimantOf(own) : { id: undefined, tree }
    return hostNames.realmProblems(claimant, 'realm', realm)
  }

  return {
    /** What the schema cannot check: names and realms of other accounts, and invalid lists. */
    async judge(data: Json, subject: AccountSubject): Promise<Problems> {
      const { name, realm } = data
      const { own } = subject
      return {
        ...(typeof name === 'string' ? await nameProblems(name, own) : {}),
        ...(typeof realm === 'string' ? await realmProblems(realm.replaceAll(' ', ''), subject) : {}),
        ...edgeProblems(data as Partial<AccountDoc>, own?.doc),
      }
    },

    /** The value of the name's claim. Without unique names, a second account claims the name and its own ID. */
    async claimOf(name: string, id: string, own: AccountRecord | undefined) {
      const key = nameKey(name)
      const { ensure_unique_name: isUnique } = await settings.of(accountsSettings)
      return !isUnique && (await isTaken(nameClaim(key), own)) ? `${key}/${id}` : key
    },
  }
}

interface DraftDeps extends DepsOf<'store' | 'settings' | 'keyring'> {
  accounts: AccountStore
  names: ReturnType<typeof createNameRules>
}

/** Accounts as they are to be stored, with the values that every account has. */
export const createDrafts = ({ store: { clock }, settings, keyring, accounts, names }: DraftDeps) => {
  const find = async (id: string | undefined) => (id === undefined ? undefined : accounts.find(id, id))

  const freshRealm = async (master: AccountRecord | undefined) => {
    const { account_realm_suffix: suffix } = await settings.of(accountsSettings)
    return `${randomHex(3)}.${suffix ?? master?.doc.realm ?? 'localhost'}`
  }

  /** The timezone and language of an account without its own: from the parent, or from the operator. */
  const inherited = async (parent: AccountRecord | undefined) => {
    const top = parent?.hidden.tree[0]
    const master = top === undefined ? parent : await find(top)
    const reseller = parent === master ? undefined : parent
    const { default_timezone: timezone } = await settings.of(accountsSettings)
    const { default_language: language } = await settings.of(crossbarSettings)
    return {
      master,
      timezone: reseller?.doc.timezone ?? timezone ?? master?.doc.timezone ?? 'UTC',
      language: parent?.doc.language ?? language,
    }
  }

  const withStandards = async (doc: AccountDoc, parent: AccountRecord | undefined) => {
    const { master, timezone, language } = await inherited(parent)
    return {
      ...doc,
      realm: doc.realm ? doc.realm.replaceAll(' ', '') : await freshRealm(master),
      timezone: doc.timezone ?? timezone,
      language: doc.language ?? language,
      caller_id: completeCallerId(doc.caller_id),
    }
  }

  return {
    async draft(parent: AccountRecord | undefined, data: Json, hidden: Partial<AccountRecord['hidden']>) {
      const id = newId(clock.now())
      const doc = publicHalf(data)
      const content = {
        doc: await withStandards(doc, parent),
        hidden: {
          tree: parent ? [...parent.hidden.tree, parent.id] : [],
          isReseller: false,
          isSuperduper: false,
          allowsNumberAdditions: false,
          enabled: parent?.hidden.enabled ?? true,
          signatureSecret: randomHex(32),
          signInSalt: randomHex(16),
          nameClaim: await names.claimOf(doc.name, id, undefined),
          ...storedApiKey(keyring, id),
          ...hidden,
        },
      }
      return accounts.draft(id, content, id)
    },

    /** The public half that replaces the one of an account, and the claim of its name. */
    async replacement(account: AccountRecord, data: Json) {
      const wanted = publicHalf(data)
      const parent = await find(account.hidden.tree.at(-1))
      const doc = await withStandards({ ...wanted, realm: wanted.realm || account.doc.realm }, parent)
      const isSameName = nameKey(doc.name) === nameKey(account.doc.name)
      const claim = isSameName ? account.hidden.nameClaim : await names.claimOf(doc.name, account.id, account)
      return { doc, nameClaim: claim }
    },

    /** The timezone and language of an imported account without its own values. */
    async unsaid(account: AccountRecord): Promise<Json> {
      const missing = (['timezone', 'language'] as const).filter((name) => account.doc[name] === undefined)
      if (missing.length === 0) return {}
      const standards = await inherited(await find(account.hidden.tree.at(-1)))
      return Object.fromEntries(missing.map((name) => [name, standards[name]]))
    },

    /** A new API key. With `endsSessions`, the sessions that the old one opened end. */
    freshKeyOf: (account: AccountRecord, { endsSessions }: { endsSessions: boolean }) => ({
      ...storedApiKey(keyring, account.id),
      ...(endsSessions && {
        endedKeySessions: { before: Math.floor(clock.now() / 1000), mark: keyMarkOf(account) },
      }),
    }),
  }
}
