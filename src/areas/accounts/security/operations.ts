import { settingScopes } from '../../../auth/api-keys.ts'
import { type AccountRecord, accountKind } from '../../../auth/identity.ts'
import { badIdentifier, failure, joinProblems, type Problems } from '../../../lib/failure.ts'
import type { Json } from '../../../lib/json.ts'
import {
  type AuthModuleName,
  type AuthModules,
  authModuleNames,
  moduleProblems,
} from '../../../settings/auth-modules.ts'
import { authSettings } from '../../../settings/documents.ts'
import { type Author, ChangeSet } from '../../../storage/change-set.ts'
import { putDocument } from '../../../storage/collection.ts'
import type { DepsOf } from '../../area.ts'
import type { Providers } from '../multi-factor/operations.ts'
import { factorProblems, handedDown, type ModulePolicy, mergedModules, policyOf } from './rules.ts'
import { createSecurityStore, type SecurityDoc, type SecurityRecord, securityId } from './store.ts'

export type { LoginLock } from './login-lock.ts'
export type { ModulePolicy } from './rules.ts'

interface Deps extends DepsOf<'store' | 'settings'> {
  providers: Providers
}

export type Security = ReturnType<typeof createSecurity>

/** How one may sign in to an account: its own settings, those of the accounts above up to the reseller, the system's. */
export const createSecurity = ({ store, settings, providers }: Deps) => {
  const documents = createSecurityStore(store)

  const find = (accountId: string) => documents.find(accountId, securityId)
  const modulesOf = async (accountId: string) => (await find(accountId))?.doc.auth_modules ?? {}

  /** The accounts above, the nearest first, up to the first reseller. */
  const ancestors = async (account: AccountRecord) => {
    const found: string[] = []
    for (const id of account.hidden.tree.toReversed()) {
      found.push(id)
      const above = await store.records.find(id, accountKind, id)
      if (above?.hidden.isReseller) break
    }
    return found
  }

  const inherited = async (account: AccountRecord): Promise<AuthModules[]> => {
    const layers = await Promise.all((await ancestors(account)).map(modulesOf))
    return layers.map(handedDown).reverse()
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
      // As with token restrictions, nobody binds the operator, who could not undo it.
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

    async replace(
      author: Author,
      account: AccountRecord,
      before: SecurityRecord | undefined,
      data: SecurityDoc,
    ) {
      const { id, ...doc } = data
      const set = new ChangeSet(author)
      const place = { accountId: account.id, id: securityId }
      const after = putDocument(set, documents, place, { before, doc, hidden: {} })
      await store.commit(set)
      return after
    },

    async remove(author: Author, record: SecurityRecord) {
      const set = new ChangeSet(author)
      documents.remove(set, record)
      await store.commit(set)
      return record
    },
  }
}
