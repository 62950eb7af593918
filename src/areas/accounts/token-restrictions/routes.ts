import { accountAdmin, accountMember } from '../../../auth/policies.ts'
import { one, removed } from '../../../http/response/responses.ts'
import { del, get, post, type Route } from '../../../http/route.ts'
import type { TokenRestrictions as RestrictionOperations } from './operations.ts'
import { TokenRestrictions } from './schema.ts'

const onAccount = '/v2/accounts/{account_id}/token_restrictions'

export const tokenRestrictionRoutes = (restrictions: RestrictionOperations): Route[] => {
  const found = async ({ path }: { path: { account_id: string } }) => {
    const record = await restrictions.find(path.account_id)
    return { record, ...(record ? { revision: record.revision } : {}) }
  }
  // A caller with limited rights must not set the rights of others.
  const unlimited = { allow: accountAdmin, namedKeys: 'unlimited' } as const
  const existing = ({ path }: { path: { account_id: string } }) => restrictions.get(path.account_id)

  return [
    get(onAccount, {
      summary: 'Read the token restrictions of an account',
      allow: accountMember,
      subject: existing,
      answers: TokenRestrictions,
      run: ({ subject: record }) => one(record),
    }),
    post(onAccount, {
      summary: 'Set the token restrictions of an account',
      ...unlimited,
      subject: found,
      body: TokenRestrictions,
      answers: TokenRestrictions,
      run: async ({ author, account, subject: { record }, data }) =>
        one(await restrictions.replace(author, account, record, data)),
    }),
    del(onAccount, {
      summary: 'Remove the token restrictions of an account',
      ...unlimited,
      subject: existing,
      answers: TokenRestrictions,
      run: async ({ author, subject: record }) => {
        await restrictions.remove(author, record)
        return removed(record)
      },
    }),
  ]
}
