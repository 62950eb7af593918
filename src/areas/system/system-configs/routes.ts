import { accountMember, superduper } from '../../../auth/policies.ts'
import type { Listing } from '../../../http/response/listing.ts'
import { answer, ListResponse } from '../../../http/response/responses.ts'
import { type Call, del, get, patch, post, put, type Route } from '../../../http/route.ts'
import { badIdentifier, badIdentifierList, failure } from '../../../lib/failure.ts'
import type { Json } from '../../../lib/json.ts'
import { anyObject } from '../../../lib/schema.ts'
import type { SettingsDoc } from '../../../settings/settings.ts'
import type { Warning } from '../../../settings/unknown-keys.ts'
import { systemScope } from '../../../storage/change-set.ts'
import type { SystemConfigStored, SystemConfigSubject, SystemConfigs, UpdateMode } from './operations.ts'
import {
  SystemConfig,
  SystemConfigName,
  SystemConfigRecord,
  SystemConfigSection,
  SystemConfigSections,
} from './schema.ts'

const all = '/v2/system_configs'
const one = `${all}/{config_id}` as const
const section = `${one}/{section}` as const

/** Clients send the id of a response back: it is ignored. */
const prepare = ({ id: _id, ...sections }: Json): Json => sections

const configResponse = (id: string, record: SystemConfigStored | undefined, data: Json, extra: Json) =>
  answer({
    data: { id, ...data },
    metadata: { id, ...(record ? { created: record.created, modified: record.modified } : {}), ...extra },
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
    record: (record) => ({ ...configs.shown(record.id, record.doc), id: record.id }),
  }

  const warningsIn = (warnings: readonly Warning[]): Json => (warnings.length > 0 ? { warnings } : {})

  const shownWhole = ({ name }: SystemConfigSubject, record: SystemConfigStored, extra: Json = {}) =>
    configResponse(name, record, configs.shown(name, record.doc), {
      ...warningsIn(configs.warnings(name, record.doc)),
      ...extra,
    })

  const shownPart = (
    { name }: SystemConfigSubject,
    part: string,
    { record, values, extra }: { record: SystemConfigStored | undefined; values: Json; extra?: Json },
  ) =>
    configResponse(`${name}/${part}`, record, configs.shownSection(name, values), {
      ...warningsIn(configs.sectionWarnings(name, values)),
      ...extra,
    })

  const common = { allow: superduper, answers: SystemConfigRecord }
  const onOne = { ...common, subject }
  const onSection = { ...common, subject: sectionSubject }

  type OfOne = Call<typeof one, Json, SystemConfigSubject>
  type OfSection = Call<typeof section, Json, SystemConfigSubject>

  const writing = (sent: UpdateMode) => ({
    ...onOne,
    prepare,
    judge: ({ subject: config, data }: Pick<OfOne, 'subject' | 'data'>) =>
      configs.judge(config, data as SettingsDoc, sent),
    run: async ({ author, subject: config, data }: OfOne) =>
      shownWhole(config, await configs.replace(author, config, data as SettingsDoc, sent)),
  })

  const writingSection = (sent: UpdateMode) => ({
    ...onSection,
    prepare,
    body: SystemConfigSection,
    judge: ({ subject: config, path, data }: Pick<OfSection, 'subject' | 'path' | 'data'>) =>
      configs.judgeSection(config, path.section, { values: data, sent }),
    async run({ author, subject: config, path, data }: OfSection) {
      const saved = await configs.replaceSection(author, config, path.section, { values: data, sent })
      return shownPart(config, path.section, saved)
    },
  })

  return [
    get(all, {
      summary: 'List the names of the settings documents with stored values',
      allow: superduper,
      answers: SystemConfigName,
      list: true,
      run: () => new ListResponse(names),
    }),
    get(one, {
      summary: 'Read a settings document; its default section includes default values',
      record: { kind: 'system_config' },
      ...onOne,
      query: { with_defaults: { flag: 'true fills every section' } },
      run(call) {
        const { name, record, sections } = call.subject
        const view = wantsAll(call) ? 'all' : 'default'
        const data = configs.shown(name, configs.read(call.subject, view))
        const { fields } = configResponse(name, record, data, warningsIn(configs.warnings(name, sections)))
        return answer({ ...fields, ...(record ? { etag: `${record.revision}-${view}` } : {}) })
      },
    }),
    put(one, { summary: 'Create a settings document', ...writing('whole'), body: SystemConfig }),
    post(one, { summary: 'Replace a settings document', ...writing('whole'), body: SystemConfig }),
    patch(one, {
      summary: 'Change values of a settings document',
      ...writing('changed'),
      body: SystemConfigSections,
    }),
    del(one, {
      summary: 'Delete a settings document: its defaults apply again',
      ...onOne,
      run: async ({ author, subject: config }) => {
        const record = await configs.remove(author, config)
        return shownWhole(config, record, { deleted: true })
      },
    }),
    get(section, {
      summary: 'Read a section of a settings document, filled with inherited values',
      ...onSection,
      run: ({ subject: config, path }) => {
        const values = configs.readSection(config, path.section)
        return shownPart(config, path.section, { record: config.record, values })
      },
    }),
    post(section, { summary: 'Replace a section of a settings document', ...writingSection('whole') }),
    patch(section, {
      summary: 'Change values of a section of a settings document',
      ...writingSection('changed'),
    }),
    del(section, {
      summary: 'Delete a section of a settings document',
      ...onSection,
      fails: [badIdentifierList],
      run: async ({ author, subject: config, path }) => {
        const removed = await configs.removeSection(author, config, path.section)
        return shownPart(config, path.section, { ...removed, extra: { deleted: true } })
      },
    }),
    ...belowAnAccount,
  ]
}

const refusal = {
  summary: 'Refused with 404: system settings belong to no account',
  allow: accountMember,
  answers: anyObject(),
  run: ({ request }: Pick<Call, 'request'>) => {
    throw failure(badIdentifier, { cause: request.path.slice(0, 200) })
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
