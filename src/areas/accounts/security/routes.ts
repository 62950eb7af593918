import type { AccountRecord } from '../../../auth/identity.ts'
import { accountAdmin, accountMember, anyToken, ownReseller } from '../../../auth/policies.ts'
import { answer, one, removed } from '../../../http/response/responses.ts'
import { type Call, del, get, patch, post, type Route } from '../../../http/route.ts'
import { authModuleNames } from '../../../settings/auth-modules.ts'
import type { LoginLock, Security, SecurityDoc } from './operations.ts'
import {
  AvailableMethods,
  LockStatus,
  SecuritySettings,
  SecuritySettingsRecord,
  SecurityView,
} from './schema.ts'

const onAccount = '/v2/accounts/{account_id}/security'
const loginLock = `${onAccount}/login_lock` as const

export const securityRoutes = (security: Security, lock: LoginLock): Route[] => {
  /** The first POST or PATCH creates the record. */
  const subject = async ({ account }: { account: AccountRecord }) => {
    const record = await security.find(account.id)
    return { record, doc: record?.doc ?? {}, ...(record ? { revision: record.revision } : {}) }
  }

  // It sets the scopes of later sign-ins: a caller with fewer scopes may not choose them.
  const unlimited = { allow: accountAdmin, namedKeys: 'unlimited', answers: SecuritySettingsRecord } as const
  const changing = {
    ...unlimited,
    subject,
    body: SecuritySettings,
    judge: ({ account, data }: Pick<Call<string, SecurityDoc>, 'account' | 'data'>) =>
      security.judge(account, data.auth_modules),
    run: async ({
      author,
      account,
      subject: { record },
      data,
    }: Call<string, SecurityDoc, Awaited<ReturnType<typeof subject>>>) =>
      one(await security.replace(author, account, record, data)),
  }

  return [
    get('/v2/security', {
      summary: 'List the sign-in methods that have settings',
      allow: anyToken,
      answers: AvailableMethods,
      run: () => ({ available_auth_methods: authModuleNames }),
    }),
    get(onAccount, {
      summary: 'Read the sign-in settings of an account',
      allow: accountMember,
      answers: SecurityView,
      run: async ({ account }) => answer(await security.view(account)),
    }),
    post(onAccount, { summary: 'Replace the sign-in settings of an account', ...changing }),
    patch(onAccount, { summary: 'Change the sign-in settings of an account', ...changing }),
    del(onAccount, {
      summary: 'Remove the sign-in settings of an account; the inherited ones apply again',
      ...unlimited,
      subject: ({ account }) => security.get(account),
      run: async ({ author, subject: record }) => {
        await security.remove(author, record)
        return removed(record)
      },
    }),
    get(loginLock, {
      summary: 'Read whether failed sign-ins locked an account',
      allow: ownReseller,
      answers: LockStatus,
      run: async ({ account }) => ({
        status: (await lock.isLocked(account)) ? 'account is locked' : 'account is not locked',
      }),
    }),
    del(loginLock, {
      summary: 'Unlock an account',
      allow: ownReseller,
      answers: LockStatus,
      run: async ({ author, account }) => {
        const wasLocked = await lock.isLocked(account)
        await lock.unlock(author, account)
        return { status: wasLocked ? 'account is unlocked' : 'account was not locked' }
      },
    }),
  ]
}
