import { accountMember, anyone } from '../../auth/policies.ts'
import { Answer, one, removed } from '../../http/answer/answers.ts'
import { publicly } from '../../http/answer/visitors.ts'
import { type Call, del, get, post, put, type Route } from '../../http/route.ts'
import type { Json } from '../../lib/json.ts'
import type { Whitelabels } from './operations.ts'
import { Whitelabel, WhitelabelRecord } from './schema.ts'
import type { WhitelabelStored } from './store.ts'

const onAccount = '/v2/accounts/{account_id}/whitelabel'
const onDomain = '/v2/whitelabel/{domain}'

/** Clients send back what they have read. */
const prepare = ({ id: _id, ...settings }: Json): Json => settings

export const whitelabelRoutes = (whitelabels: Whitelabels): Route[] => {
  const subject = ({ path }: { path: { account_id: string } }) => whitelabels.get(path.account_id)

  const writing = { allow: accountMember, prepare, body: Whitelabel, answers: WhitelabelRecord }

  const shownTo = ({ visitor }: Pick<Call, 'visitor'>, record: WhitelabelStored) => {
    const { fields } = one(record)
    return new Answer({ ...fields, headers: publicly(visitor) })
  }

  return [
    get(onAccount, {
      summary: 'Read the whitelabel settings of an account',
      allow: accountMember,
      subject,
      answers: WhitelabelRecord,
      run: ({ subject: record }) => one(record),
    }),
    put(onAccount, {
      summary: 'Create the whitelabel settings of an account',
      ...writing,
      judge: (call) => whitelabels.judge(call),
      run: async ({ author, path, data }) => one(await whitelabels.create(author, path.account_id, data)),
    }),
    post(onAccount, {
      summary: 'Replace the whitelabel settings of an account',
      ...writing,
      subject,
      judge: (call) => whitelabels.judge(call, call.subject),
      run: async ({ author, subject: record, data }) => one(await whitelabels.replace(author, record, data)),
    }),
    del(onAccount, {
      summary: 'Delete the whitelabel settings of an account, with its files and sender addresses',
      allow: accountMember,
      subject,
      answers: WhitelabelRecord,
      run: async ({ author, subject: record }) => removed(await whitelabels.remove(author, record)),
    }),
    get(onDomain, {
      summary: 'Read the whitelabel settings that hold at a host: for sign-in pages, without a token',
      allow: anyone,
      answers: WhitelabelRecord,
      run: async (call) => shownTo(call, await whitelabels.byDomain(call.path.domain)),
    }),
  ]
}
