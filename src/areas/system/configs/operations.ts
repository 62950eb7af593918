import type { TSchema } from 'typebox'
import type { AccountRecord } from '../../../auth/identity.ts'
import { badIdentifier, failure, type Problems } from '../../../lib/failure.ts'
import type { Json } from '../../../lib/json.ts'
import { visibleSecrets, withoutSecrets, withStoredSecrets } from '../../../lib/secrets.ts'
import { isSettingsName, mergeSections, withoutDefaults } from '../../../settings/sections.ts'
import { type Warning, warningsOf } from '../../../settings/unknown-keys.ts'
import { type Author, systemScope } from '../../../storage/change-set.ts'
import { type Collection, createCollection, putDocument } from '../../../storage/collection.ts'
import type { StoredRecord } from '../../../storage/records.ts'
import { committed } from '../../../storage/store.ts'
import type { Accounts } from '../../accounts/accounts/operations.ts'
import { type Importer, importingInto } from '../../adoption.ts'
import type { DepsOf } from '../../area.ts'
import { validPartOf } from '../../valid-part.ts'
import type { SystemConfigs, UpdateMode } from '../system-configs/operations.ts'
import { configsSettings } from './settings.ts'

export type AccountConfigStored = StoredRecord<Json, Record<never, never>>

interface Deps extends DepsOf<'declared' | 'store' | 'settings' | 'node' | 'validate'> {
  accounts: Accounts
  systemConfigs: SystemConfigs
}

/** `record` is undefined if the account has no values. */
export interface AccountConfigSubject {
  id: string
  accountId: string
  record: AccountConfigStored | undefined
  /** Merged values of the reseller and the system. */
  below: Json
  revision?: string
  doc: Json
}

const prefix = 'configs_'

export const unnamed = 'default'

const idOf = (name: string) => `${prefix}${name}`
const nameOf = (id: string) => id.slice(prefix.length)

/** Imported values that are invalid here are dropped. */
const importerOf = (
  collection: Collection<Json, Record<never, never>>,
  schemaOf: (id: string) => TSchema | undefined,
  validate: Deps['validate'],
): Importer => ({
  ...importingInto(collection, async ({ id, doc }) => {
    const schema = schemaOf(id)
    return { doc: schema ? (await validPartOf(validate, schema, doc)).doc : doc, hidden: {} }
  }),
  async leavesOut({ id, doc }) {
    const schema = schemaOf(id)
    if (!schema) return []
    const { removed, unsolved } = await validPartOf(validate, schema, doc)
    return [...removed.map(({ place }) => place.join('.')), ...unsolved]
  },
})

export type AccountConfigs = ReturnType<typeof createAccountConfigs>

/** Settings documents with values per account. Documents of the whole system are not shown to accounts. */
export const createAccountConfigs = (tools: Deps) => {
  const { declared, store, settings, node, accounts, systemConfigs, validate } = tools
  const { settings: documents, accountSettings: accountLevels } = declared
  const hasAccountLevel = (name: string) => Object.hasOwn(accountLevels, name)
  const schemaOf = (id: string) => (hasAccountLevel(nameOf(id)) ? accountLevels[nameOf(id)] : undefined)
  const documentSchemaOf = (name: string) => (Object.hasOwn(documents, name) ? documents[name] : undefined)
  const collection = createCollection<Json, Record<never, never>>(store, {
    kind: 'account_config',
    secrets: schemaOf,
    sortKey: (_doc, id) => id,
    row: () => ({}),
  })

  const assertReadable = async (name: string) => {
    if (!isSettingsName(name)) throw failure(badIdentifier, { cause: name.slice(0, 200) })
    if (hasAccountLevel(name)) return
    const { hidden_documents: hidden } = await settings.of(configsSettings)
    const isHidden = hidden.some((one) => name === one || name.startsWith(`${one}.`))
    if (!Object.hasOwn(documents, name) && !isHidden) return
    throw failure(badIdentifier, { cause: name, reason: 'this document applies to the whole system' })
  }

  const systemValues = async (name: string): Promise<Json> => {
    const doc = (await systemConfigs.find(systemScope, name))?.doc
    return mergeSections(doc?.default, doc?.[node])
  }

  const ownValues = async (accountId: string, name: string): Promise<Json> =>
    (await collection.find(accountId, idOf(name)))?.doc ?? {}

  /** Inherited values, without the secrets of their owners. */
  const valuesBelow = async (account: AccountRecord, name: string) => {
    const resellerId = await accounts.resellerOf(account)
    const system = await systemValues(name)
    const layers = resellerId === account.id ? [system] : [system, await ownValues(resellerId, name)]
    return mergeSections(...layers.map((layer) => withoutSecrets(documentSchemaOf(name), layer)))
  }

  const remove = (author: Author, record: AccountConfigStored) =>
    committed(store, author, (set) => collection.remove(set, record))

  const save = (author: Author, subject: AccountConfigSubject, doc: Json) =>
    committed(store, author, (set) =>
      putDocument(set, collection, subject, { before: subject.record, doc, hidden: {} }),
    )

  const wholeOf = ({ id, record }: AccountConfigSubject, values: Json, sent: UpdateMode) =>
    withStoredSecrets(schemaOf(id), values, record?.doc ?? {}, sent)

  return {
    adoption: importerOf(collection, schemaOf, validate),

    async subject(account: AccountRecord, name: string): Promise<AccountConfigSubject> {
      await assertReadable(name)
      const record = await collection.find(account.id, idOf(name))
      return {
        id: idOf(name),
        accountId: account.id,
        record,
        below: await valuesBelow(account, name),
        ...(record ? { revision: record.revision } : {}),
        doc: record?.doc ?? {},
      }
    },

    /** Without inherited values. */
    own: ownValues,

    /** Documents without a schema are stored as they are. */
    async judge(subject: AccountConfigSubject, values: Json, sent: UpdateMode): Promise<Problems> {
      const schema = schemaOf(subject.id)
      return schema ? (await validate(schema, wholeOf(subject, values, sent))).problems : {}
    },

    /** Keys that the server does not use. */
    warnings({ id, record }: AccountConfigSubject): Warning[] {
      const schema = schemaOf(id)
      return schema ? warningsOf(schema, record?.doc ?? {}) : []
    },

    read: ({ id, below, record }: AccountConfigSubject) =>
      visibleSecrets(schemaOf(id), mergeSections(below, record?.doc ?? {})),

    shown: ({ id }: AccountConfigSubject, values: Json) => visibleSecrets(schemaOf(id), values),

    /** Stores what differs from the inherited values; without a difference the record is removed. */
    async replace(
      author: Author,
      subject: AccountConfigSubject,
      { values, sent }: { values: Json; sent: UpdateMode },
    ): Promise<AccountConfigSubject> {
      const doc = withoutDefaults(wholeOf(subject, values, sent), subject.below)
      if (Object.keys(doc).length > 0) {
        const record = await save(author, subject, doc)
        return { ...subject, record, revision: record.revision }
      }
      if (subject.record) await remove(author, subject.record)
      const { revision: _gone, ...rest } = subject
      return { ...rest, record: undefined }
    },

    async remove(author: Author, subject: AccountConfigSubject) {
      if (!subject.record) throw failure(badIdentifier, { cause: subject.id })
      await remove(author, subject.record)
      return subject.record
    },
  }
}
