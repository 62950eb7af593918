import type { AccountRecord } from '../../../auth/identity.ts'
import { badIdentifier, failure, type Problems } from '../../../lib/failure.ts'
import type { Json } from '../../../lib/json.ts'
import { visibleSecrets, withoutSecrets, withStoredSecrets } from '../../../lib/secrets.ts'
import { isSettingsName, mergeSections, withoutDefaults } from '../../../settings/sections.ts'
import { type Warning, warningsOf } from '../../../settings/unknown-keys.ts'
import { type Author, ChangeSet, systemScope } from '../../../storage/change-set.ts'
import { createCollection, putDocument } from '../../../storage/collection.ts'
import type { StoredRecord } from '../../../storage/records.ts'
import type { SecretsOf } from '../../../storage/sealing.ts'
import type { Store } from '../../../storage/store.ts'
import type { Accounts } from '../../accounts/accounts/operations.ts'
import { type Importer, importingInto } from '../../adoption.ts'
import type { DepsOf } from '../../area.ts'
import { validPartOf } from '../../valid-part.ts'
import type { SystemConfigs, UpdateMode } from '../system-configs/operations.ts'
import { configsSettings } from './settings.ts'

const accountConfigKind = 'account_config'

export type AccountConfigStored = StoredRecord<Json, Record<never, never>>

const createAccountConfigStore = (store: Store, secrets: SecretsOf) =>
  createCollection<Json, Record<never, never>>(store, {
    kind: accountConfigKind,
    secrets,
    sortKey: (_doc, id) => id,
    row: () => ({}),
  })

/** Inherited layers, the system's first, without the secrets of their owners. */
const belowAccount = (schema: object | undefined, layers: readonly Json[]) =>
  mergeSections(...layers.map((layer) => withoutSecrets(schema, layer)))

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

export type AccountConfigs = ReturnType<typeof createAccountConfigs>

/** Settings documents with values per account. Documents that hold for the whole system are not shown to accounts. */
export const createAccountConfigs = (tools: Deps) => {
  const { declared, store, settings, node, accounts, systemConfigs, validate } = tools
  const { settings: documents, accountSettings: accountLevels } = declared
  const hasAccountLevel = (name: string) => Object.hasOwn(accountLevels, name)
  const schemaOf = (id: string) => (hasAccountLevel(nameOf(id)) ? accountLevels[nameOf(id)] : undefined)
  const documentSchemaOf = (name: string) => (Object.hasOwn(documents, name) ? documents[name] : undefined)
  const collection = createAccountConfigStore(store, schemaOf)

  const assertReadable = async (name: string) => {
    if (!isSettingsName(name)) throw failure(badIdentifier, { cause: name.slice(0, 200) })
    if (hasAccountLevel(name)) return
    const { hidden_documents: hidden } = await settings.of(configsSettings)
    const isHidden = hidden.some((one) => name === one || name.startsWith(`${one}.`))
    if (!Object.hasOwn(documents, name) && !isHidden) return
    throw failure(badIdentifier, { cause: name, reason: 'this document holds for the whole system' })
  }

  const systemValues = async (name: string): Promise<Json> => {
    const doc = (await systemConfigs.find(systemScope, name))?.doc
    return mergeSections(doc?.default, doc?.[node])
  }

  const ownValues = async (accountId: string, name: string): Promise<Json> =>
    (await collection.find(accountId, idOf(name)))?.doc ?? {}

  const layersBelow = async (account: AccountRecord, name: string) => {
    const resellerId = await accounts.resellerOf(account)
    const system = await systemValues(name)
    return resellerId === account.id ? [system] : [system, await ownValues(resellerId, name)]
  }

  const remove = async (author: Author, record: AccountConfigStored) => {
    const set = new ChangeSet(author)
    collection.remove(set, record)
    await store.commit(set)
  }

  const save = async (author: Author, subject: AccountConfigSubject, doc: Json) => {
    const set = new ChangeSet(author)
    const after = putDocument(set, collection, subject, { before: subject.record, doc, hidden: {} })
    await store.commit(set)
    return after
  }

  const wholeOf = ({ id, record }: AccountConfigSubject, values: Json, sent: UpdateMode) =>
    withStoredSecrets(schemaOf(id), values, record?.doc ?? {}, sent)

  /** Imported values that are invalid here are dropped. */
  const adoption: Importer = {
    ...importingInto<Json, Record<never, never>>(collection, async ({ id, doc }) => {
      const schema = schemaOf(id)
      return { doc: schema ? (await validPartOf(validate, schema, doc)).doc : doc, hidden: {} }
    }),
    async leavesOut({ id, doc }) {
      const schema = schemaOf(id)
      if (!schema) return []
      const { removed, unsolved } = await validPartOf(validate, schema, doc)
      return [...removed.map(({ place }) => place.join('.')), ...unsolved]
    },
  }

  return {
    adoption,

    async subject(account: AccountRecord, name: string): Promise<AccountConfigSubject> {
      await assertReadable(name)
      const record = await collection.find(account.id, idOf(name))
      return {
        id: idOf(name),
        accountId: account.id,
        record,
        below: belowAccount(documentSchemaOf(name), await layersBelow(account, name)),
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
