import { settingScopes } from '../../../auth/api-keys.ts'
import { type AccountRecord, accountKind } from '../../../auth/identity.ts'
import { badIdentifier, failure, joinProblems, type Problems, SignInRefusal } from '../../../lib/failure.ts'
import type { Json } from '../../../lib/json.ts'
import {
  type AuthModuleName,
  type AuthModules,
  authModuleNames,
  moduleProblems,
} from '../../../settings/auth-modules.ts'
import { authSettings } from '../../../settings/documents.ts'
import { type Author, ChangeSet } from '../../../storage/change-set.ts'
import { createCollection, putDocument } from '../../../storage/collection.ts'
import type { StoredRecord } from '../../../storage/records.ts'
import { committed, retrying } from '../../../storage/store.ts'
import { importingInto } from '../../adoption.ts'
import type { DepsOf } from '../../area.ts'
import type { Providers } from '../multi-factor/operations.ts'
import { accountIsLocked } from './failures.ts'
import { factorProblems, handedDown, type ModulePolicy, mergedModules, policyOf } from './rules.ts'
import { SecuritySettings } from './schema.ts'

export interface SecurityDoc {
  auth_modules?: AuthModules
  [custom: string]: unknown
}

type SecurityRecord = StoredRecord<SecurityDoc, object>

/** Every account has at most one. */
const securityId = 'configs_crossbar.auth'

interface LockHidden {
  /** Failed sign-ins since `since`. */
  failures: number
  /** Unix seconds. */
  since: number
  lockedUntil: number
}

export type { ModulePolicy } from './rules.ts'

interface Deps extends DepsOf<'store' | 'settings'> {
  providers: Providers
}

export type Security = ReturnType<typeof createSecurity>

/** Sign-in settings of an account, inherited from its parents up to the reseller, then from the system. */
export const createSecurity = ({ store, settings, providers }: Deps) => {
  const documents = createCollection<SecurityDoc, object>(store, { kind: 'security' })

  const find = (accountId: string) => documents.find(accountId, securityId)
  const modulesOf = async (accountId: string) => (await find(accountId))?.doc.auth_modules ?? {}

  /** Settings of the accounts above, up to the first reseller; those of the nearest are last. */
  const inherited = async ({ hidden: { tree } }: AccountRecord): Promise<AuthModules[]> => {
    const layers: AuthModules[] = []
    for (const id of tree.toReversed()) {
      layers.unshift(handedDown(await modulesOf(id)))
      if ((await store.records.find(id, accountKind, id))?.hidden.isReseller) break
    }
    return layers
  }

  const providersOf = async (account: AccountRecord, modules: AuthModules) => {
    const named: Json = {}
    for (const name of authModuleNames) {
      const factor = modules[name]?.multi_factor
      const provider = factor?.enabled ? await providers.meantBy(account, factor) : undefined
      if (!provider) continue
      const { name: text, provider_name } = provider.doc
      named[name] = { multi_factor: { configuration_id: provider.id, name: text, provider_name } }
    }
    return { auth_modules: named }
  }

  return {
    find,
    adoption: { schema: SecuritySettings, ...importingInto(documents, ({ doc }) => ({ doc, hidden: {} })) },

    async get(account: AccountRecord) {
      const record = await find(account.id)
      if (!record) throw failure(badIdentifier, { cause: securityId })
      return record
    },

    async policyOf(account: AccountRecord, name: AuthModuleName): Promise<ModulePolicy> {
      const system = await settings.of(authSettings)
      const { scopes, ...policy } = policyOf(name, system, [
        ...(await inherited(account)),
        await modulesOf(account.id),
      ])
      // As with token restrictions, the operator is never restricted, because only the operator could undo it.
      const binding = account.hidden.isSuperduper ? undefined : settingScopes(scopes)
      return binding ? { ...policy, scopes: [...binding] } : policy
    },

    async view(account: AccountRecord) {
      const own = await modulesOf(account.id)
      const above = mergedModules(await settings.of(authSettings), await inherited(account))
      return {
        data: { account: { auth_modules: own }, inherited_config: { auth_modules: above } },
        metadata: {
          account: await providersOf(account, own),
          inherited_config: await providersOf(account, above),
        },
      }
    },

    async judge(account: AccountRecord, modules: AuthModules | undefined): Promise<Problems> {
      const tree = [...account.hidden.tree, account.id]
      const find = (accountId: string, id: string) => providers.named(account, accountId, id)
      const all = authModuleNames.map((name) => factorProblems(name, modules?.[name], tree, find))
      return joinProblems(moduleProblems(modules), ...(await Promise.all(all)))
    },

    replace(
      author: Author,
      account: AccountRecord,
      before: SecurityRecord | undefined,
      { id, ...doc }: SecurityDoc,
    ) {
      const place = { accountId: account.id, id: securityId }
      return committed(store, author, (set) =>
        putDocument(set, documents, place, { before, doc, hidden: {} }),
      )
    },

    remove: (author: Author, record: SecurityRecord) =>
      committed(store, author, (set) => documents.remove(set, record)),
  }
}

export type LoginLock = ReturnType<typeof createLoginLock>

/** Too many failed sign-ins lock an account for a while, where `lock_account_on_failed_attempts` is set. */
export const createLoginLock = ({ store, settings, log }: DepsOf<'store' | 'settings' | 'log'>) => {
  /** The count of failed sign-ins, with the ID of the account. */
  const locks = createCollection<object, LockHidden>(store, { kind: 'login_lock' })
  const unixNow = () => Math.floor(store.clock.now() / 1000)
  const findLock = (account: AccountRecord) => locks.find(account.id, account.id)
  const rule = async () => {
    const auth = await settings.of(authSettings)
    return auth.lock_account_on_failed_attempts ? auth : undefined
  }

  const isLocked = async (account: AccountRecord) => {
    if (!(await rule())) return false
    const lock = await findLock(account)
    return lock !== undefined && lock.hidden.lockedUntil > unixNow()
  }

  const counted = (before: LockHidden | undefined, most: number, seconds: number): LockHidden => {
    const now = unixNow()
    const isOld = before === undefined || now - before.since > seconds
    const failures = isOld ? 1 : before.failures + 1
    const since = isOld ? now : before.since
    return { failures, since, lockedUntil: failures >= most ? now + seconds : 0 }
  }

  const unlockWith = async (set: ChangeSet, account: AccountRecord) => {
    const lock = await findLock(account)
    if (lock) locks.remove(set, lock)
  }

  return {
    isLocked,

    async assertUnlocked(account: AccountRecord) {
      if (await isLocked(account))
        throw failure(accountIsLocked, {}, new SignInRefusal('the account is locked', account.id))
    },

    async countFailure(author: Author, account: AccountRecord) {
      const auth = await rule()
      if (!auth) return
      const { id } = account
      const { failed_attempts_until_lock: most, lock_s: seconds } = auth
      const { clientAddress: client_address } = author
      const reason = 'too many failed sign-ins'
      await retrying(async () => {
        const lock = await findLock(account)
        const hidden = counted(lock?.hidden, most, seconds)
        const set = new ChangeSet(author)
        putDocument(set, locks, account, { before: lock, doc: {}, hidden })
        const isNew = hidden.lockedUntil > (lock?.hidden.lockedUntil ?? 0)
        if (isNew) {
          const after = JSON.stringify({ reason, client_address, locked_seconds: seconds })
          set.happened({ accountId: id, type: 'sign_in.refused', kind: 'account', id, after })
        }
        await store.commit(set)
        // The same format as log lines of rejected sign-ins.
        if (isNew) log.write('info', 'account locked', { client_address, account_id: id, reason, seconds })
      })
    },

    unlockWith,

    /** Resets the failures: after a sign-in, or by an ancestor. */
    async unlock(author: Author, account: AccountRecord) {
      const set = new ChangeSet(author)
      await unlockWith(set, account)
      if (set.changes.length > 0) await store.commit(set)
    },
  }
}
