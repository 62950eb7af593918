import type { AccountRecord } from '../../../auth/identity.ts'
import { failure, notConfigured } from '../../../lib/failure.ts'
import type { AuthModule } from '../../../settings/auth-modules.ts'
import { systemScope } from '../../../storage/change-set.ts'
import { readsOf } from '../../../storage/collection.ts'
import type { DepsOf } from '../../area.ts'
import { type RecordsDefinition, records } from '../../records.ts'
import { Provider, ProviderRecord as ProviderAnswer } from './schema.ts'
import { createProviderStore, type ProviderDoc, type ProviderRecord } from './store.ts'

export type { Factors } from './factors.ts'
export type { Passkeys } from './passkeys/operations.ts'

type MultiFactorSetting = NonNullable<AuthModule['multi_factor']>

export type Providers = ReturnType<typeof createProviders>

const maxProviders = 50

const assertSupported = ({ provider_name: name }: ProviderDoc) => {
  if (name === 'duo') throw failure(notConfigured, { message: 'Duo is not available on this server' })
}

export const createProviders = ({ store }: DepsOf<'store'>) => {
  const providers = createProviderStore(store)

  const listOf = (scope: string) =>
    providers.page({ accountId: scope, limit: maxProviders, descending: false })

  const firstEnabled = async (scope: string) => (await listOf(scope)).find(({ doc }) => doc.enabled)

  const nearest = async (account: AccountRecord): Promise<ProviderRecord | undefined> => {
    for (const scope of [account.id, ...account.hidden.tree.toReversed(), systemScope]) {
      const provider = await firstEnabled(scope)
      if (provider) return provider
    }
    return undefined
  }

  const named = async (account: AccountRecord, accountId: string, id: string) => {
    const isMaster = accountId === (account.hidden.tree[0] ?? account.id)
    const own = await providers.find(accountId, id)
    // The operator names the system's providers by the master account.
    return own ?? (isMaster ? providers.find(systemScope, id) : undefined)
  }

  const definition: RecordsDefinition<ProviderDoc, object> = {
    collection: providers,
    shape: { body: Provider, record: ProviderAnswer, computed: [] },
    beforeWrite: (_set, { after }) => assertSupported(after.doc),
  }

  return {
    ...readsOf(providers),
    ofAccounts: records(store, definition),
    ofSystem: records(store, { ...definition, ofSystem: true }),
    named,

    /** The provider of a setting; undefined if there is none, or it is disabled. */
    async meantBy(account: AccountRecord, setting: MultiFactorSetting) {
      const { configuration_id: id, account_id: accountId } = setting
      if (!id || !accountId) return nearest(account)
      const provider = await named(account, accountId, id)
      return provider?.doc.enabled ? provider : undefined
    },

    async choiceOf(account: AccountRecord) {
      const rows = (records: ProviderRecord[]) => records.map(({ rowText }) => JSON.parse(rowText) as object)
      return {
        configured: rows(await listOf(account.id)),
        multi_factor_providers: rows((await listOf(systemScope)).filter(({ doc }) => doc.enabled)),
      }
    },
  }
}
