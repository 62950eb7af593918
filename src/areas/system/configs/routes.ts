import type { AccountRecord } from '../../../auth/identity.ts'
import { accountAdmin, accountMember } from '../../../auth/policies.ts'
import { answer } from '../../../http/response/responses.ts'
import { type Call, del, get, patch, post, put, type Route } from '../../../http/route.ts'
import type { Json } from '../../../lib/json.ts'
import { anyObject, anyText, must, open } from '../../../lib/schema.ts'
import type { Warning } from '../../../settings/unknown-keys.ts'
import type { UpdateMode } from '../system-configs/operations.ts'
import {
  type AccountConfigStored,
  type AccountConfigSubject,
  type AccountConfigs,
  unnamed,
} from './operations.ts'

const AccountConfig = anyObject({
  title: 'Account configuration',
  description: 'Values by key; other keys keep their inherited value',
})

const AccountConfigRecord = open(
  { id: must(anyText({ readOnly: true })) },
  { title: 'Account configuration record' },
)

const all = '/v2/accounts/{account_id}/configs'
const one = `${all}/{config_id}` as const

const prepare = ({ id: _id, ...values }: Json): Json => values

const metadataOf = (id: string, record: AccountConfigStored | undefined) => ({
  id,
  ...(record ? { created: record.created, modified: record.modified } : {}),
})

const warningsMetadata = (warnings: readonly Warning[]): Json => (warnings.length > 0 ? { warnings } : {})

export const accountConfigRoutes = (configs: AccountConfigs): Route[] => {
  const subject = ({ path, account }: { path: { config_id: string }; account: AccountRecord }) =>
    configs.subject(account, path.config_id)

  // No ETag: the response also depends on inherited documents.
  const view = (config: AccountConfigSubject) =>
    answer({
      data: { ...configs.read(config), id: config.id },
      metadata: { ...metadataOf(config.id, config.record), ...warningsMetadata(configs.warnings(config)) },
    })

  const writing = (sent: UpdateMode) => ({
    allow: accountAdmin,
    subject,
    prepare,
    body: AccountConfig,
    answers: AccountConfigRecord,
    judge: ({ subject: config, data }: { subject: AccountConfigSubject; data: object }) =>
      configs.judge(config, { ...data }, sent),
    run: async ({ author, subject: config, data }: Call<typeof one, Json, AccountConfigSubject>) =>
      view(await configs.replace(author, config, { values: data, sent })),
  })

  return [
    get(all, {
      summary: 'Read the document `default` of an account',
      allow: accountMember,
      answers: AccountConfigRecord,
      run: async ({ account }) => view(await configs.subject(account, unnamed)),
    }),
    get(one, {
      summary:
        'Read a settings document of an account, with values inherited from its reseller and the system',
      record: { kind: 'account_config' },
      allow: accountMember,
      subject,
      answers: AccountConfigRecord,
      run: ({ subject: config }) => view(config),
    }),
    put(one, { summary: 'Create the values of an account', ...writing('whole') }),
    post(one, { summary: 'Replace the values of an account', ...writing('whole') }),
    patch(one, { summary: 'Change values of an account', ...writing('changed') }),
    del(one, {
      summary: 'Delete the values of an account: inherited values apply again',
      allow: accountAdmin,
      subject,
      answers: AccountConfigRecord,
      run: async ({ author, subject: config }) => {
        const record = await configs.remove(author, config)
        return answer({
          data: { ...configs.shown(config, record.doc), id: config.id },
          metadata: { ...metadataOf(config.id, record), deleted: true },
        })
      },
    }),
  ]
}
