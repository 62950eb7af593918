import { accountMember, superduper } from '../../auth/policies.ts'
import { answer, ListAnswer } from '../../http/answer/answers.ts'
import type { Listing } from '../../http/answer/listing.ts'
import { type Call, del, get, patch, post, put, type Route } from '../../http/route.ts'
import { failure } from '../../lib/failure.ts'
import type { Json } from '../../lib/json.ts'
import { anyObject } from '../../lib/schema.ts'
import type { SettingsDoc } from '../../settings/settings.ts'
import { systemScope } from '../../storage/change-set.ts'
import type { SystemConfigSubject, SystemConfigs } from './operations.ts'
import {
  SystemConfig,
  SystemConfigName,
  SystemConfigRecord,
  SystemConfigSection,
  SystemConfigSections,
} from './schema.ts'
import type { SystemConfigStored } from './store.ts'

const all = '/v2/system_configs'
const one = `${all}/{config_id}` as const
const section = `${one}/{section}` as const

/** An echoed answer carries its id; ids never select anything. */
const prepare = ({ id: _id, ...sections }: Json): Json => sections

const metadataOf = (record: SystemConfigStored | undefined, id: string) => ({
  id,
  ...(record ? { created: record.created, modified: record.modified } : {}),
})

const shown = (id: string, record: SystemConfigStored | undefined, data: Json, extra: Json = {}) =>
  answer({
    data: { id, ...data },
    metadata: { ...metadataOf(record, id), ...extra },
    ...(record ? { revision: record.revision } : {}),
  })

const wantsAll = ({ request }: Pick<Call, 'request'>) => `${request.value('with_defaults')}` === 'true'

export const systemConfigRoutes = (configs: SystemConfigs): Route[] => {
  const subject = ({ path }: { path: { config_id: string } }) => configs.subject(path.config_id)

  const sectionSubject = ({ path }: { path: { config_id: string; section: string } }) =>
    configs.sectionSubject(path.config_id, path.section)

  const names: Listing<SystemConfigStored> = {
    page: (request) => configs.page({ ...request, accountId: systemScope }),
    cursor: (record) => [record.sortKey, record.id],
    row: (record) => JSON.stringify(record.id),
    record: (record) => ({ ...record.doc, id: record.id }),
  }

  const judge = ({ subject: config, data }: { subject: SystemConfigSubject; data: Json }) =>
    configs.judge(config, data as SettingsDoc)

  const replace = async ({ author, subject: config, data }: Call<string, Json, SystemConfigSubject>) => {
    const record = await configs.replace(author, config, data as SettingsDoc)
    return shown(config.name, record, record.doc)
  }

  const judgeSection = ({
    subject: config,
    path,
    data,
  }: {
    subject: SystemConfigSubject
    path: { section: string }
    data: Json
  }) => configs.judgeSection(config, path.section, data)

  const replaceSection = async (call: Call<typeof section, Json, SystemConfigSubject>) => {
    const { author, subject: config, path, data } = call
    const { record, values } = await configs.replaceSection(author, config, path.section, data)
    return shown(`${config.name}/${path.section}`, record, values)
  }

  const common = { allow: superduper, answers: SystemConfigRecord }
  const writing = { ...common, subject, prepare, judge }
  const writingSection = {
    ...common,
    subject: sectionSubject,
    prepare,
    body: SystemConfigSection,
    judge: judgeSection,
  }

  return [
    get(all, {
      summary: 'List the names of the settings documents with stored values',
      allow: superduper,
      answers: SystemConfigName,
      list: true,
      run: () => new ListAnswer(names),
    }),
    get(one, {
      summary: 'Read a settings document, its default section filled with the values nobody set',
      ...common,
      subject,
      query: { with_defaults: 'true fills every section' },
      run: (call) => {
        const { name, record } = call.subject
        const view = wantsAll(call) ? 'all' : 'default'
        const { fields } = shown(name, record, configs.read(call.subject, view))
        return answer({ ...fields, ...(record ? { etag: `${record.revision}-${view}` } : {}) })
      },
    }),
    put(one, {
      summary: 'Create a settings document',
      ...writing,
      body: SystemConfig,
      run: (call) => replace(call),
    }),
    post(one, {
      summary: 'Replace a settings document',
      ...writing,
      body: SystemConfig,
      run: (call) => replace(call),
    }),
    patch(one, {
      summary: 'Change values of a settings document',
      ...writing,
      body: SystemConfigSections,
      run: (call) => replace(call),
    }),
    del(one, {
      summary: 'Delete a settings document: its defaults hold again',
      ...common,
      subject,
      run: async ({ author, subject: config }) => {
        const record = await configs.remove(author, config)
        return shown(config.name, record, record.doc, { deleted: true })
      },
    }),
    get(section, {
      summary: 'Read a section of a settings document, filled with what lies below it',
      ...common,
      subject: sectionSubject,
      run: ({ subject: config, path }) => {
        const { fields } = shown(
          `${config.name}/${path.section}`,
          config.record,
          configs.readSection(config, path.section),
        )
        return answer(fields)
      },
    }),
    post(section, {
      summary: 'Replace a section of a settings document',
      ...writingSection,
      run: (call) => replaceSection(call),
    }),
    patch(section, {
      summary: 'Change values of a section of a settings document',
      ...writingSection,
      run: (call) => replaceSection(call),
    }),
    del(section, {
      summary: 'Delete a section of a settings document',
      ...common,
      subject: sectionSubject,
      fails: ['bad_identifier_list'],
      run: async ({ author, subject: config, path }) => {
        const { record, values } = await configs.removeSection(author, config, path.section)
        return shown(`${config.name}/${path.section}`, record, values, { deleted: true })
      },
    }),
    ...belowAnAccount,
  ]
}

const refusal = {
  summary: 'System settings belong to no account: always 404',
  allow: accountMember,
  answers: anyObject(),
  run: ({ request }: Pick<Call, 'request'>) => {
    throw failure('bad_identifier', { cause: request.path.slice(0, 200) })
  },
}

const belowAnAccount: readonly Route[] = [
  get('/v2/accounts/{account_id}/system_configs', refusal),
  ...[get, put, post, patch, del].map((define) =>
    define('/v2/accounts/{account_id}/system_configs/{config_id}', refusal),
  ),
  ...[get, post, patch, del].map((define) =>
    define('/v2/accounts/{account_id}/system_configs/{config_id}/{section}', refusal),
  ),
]
