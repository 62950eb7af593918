import type { Accounts } from '../../src/areas/accounts/accounts/operations.ts'
import type { QuantityReader } from '../../src/areas/billing/services/quantities/operations.ts'
import { fileKinds } from '../../src/areas/brand/whitelabel/files/rules.ts'
import { type AccountRecord, userPhotoKind } from '../../src/auth/identity.ts'
import { csvLine } from '../../src/lib/csv.ts'
import { settingsKind } from '../../src/settings/settings.ts'
import type { StoredRecord } from '../../src/storage/records.ts'
import type { Store } from '../../src/storage/store.ts'
import { exportAccount } from '../conversions/accounts.rules.ts'
import { exportNotice } from '../conversions/brand.rules.ts'
import { exportLimits } from '../conversions/limits.rules.ts'
import { exportWithLimits } from '../conversions/packet-limits.rules.ts'
import { exportUser, providerType } from '../conversions/people.rules.ts'
import { exportRate } from '../conversions/pricing.rules.ts'
import { exportServices } from '../conversions/services.rules.ts'
import { exportSetting } from '../conversions/settings.rules.ts'
import { exportAlert, exportTask } from '../conversions/shared-databases.rules.ts'
import { largestFile } from '../import-run/batches.ts'
import { type ExportedDocument, type ExportedFile, exported, type OwnRecord } from './document.ts'
import type { ExportRows } from './rows.sql.ts'

interface KindDeps {
  records: Pick<Store['records'], 'find'>
  accounts: Pick<Accounts, 'apiKeyOf'>
  quantities: Pick<QuantityReader, 'of'>
  rows: Pick<ExportRows, 'taskFile'>
}

export interface RecordOwner {
  account: AccountRecord
  resellerId: string
}

type Export = (record: OwnRecord, whose: RecordOwner) => ExportedDocument[] | Promise<ExportedDocument[]>

export type Exports = Readonly<Record<string, Export>>

const brandFileKind = 'whitelabel_file'

/** Exported with the master account. */
export const mastersSetting = 'accounts'

// Files, which are exported with their record, and internal records.
const skippedKinds: ReadonlySet<string> = new Set([
  userPhotoKind,
  brandFileKind,
  'domain_checks',
  'first_start',
  'hidden_alerts',
  'kazoo_import',
  'key_grant',
  'key_request',
  'login_attempt',
  'login_lock',
  'password_reset',
  'server_key',
  'sign_in_networks',
  'signing_key',
  'token_identity',
  'verification_mails',
])

export const isSkippedKind = (kind: string) => skippedKinds.has(kind)

/** Records that are part of another record's document. */
export const isPartOfOther = ({ kind, id }: Pick<StoredRecord, 'kind' | 'id'>) =>
  kind === 'operator_limits' || (kind === settingsKind && id === mastersSetting)

const fileOf = ({ doc, hidden }: StoredRecord, name: string): ExportedFile => ({
  name,
  contentType: String(doc.content_type),
  bytes: Buffer.from(String(hidden.base64), 'base64'),
})

const plain =
  (type: string, contentOf?: (record: OwnRecord) => Parameters<typeof exported>[2]) =>
  (record: OwnRecord): ExportedDocument[] => [exported(type, record, contentOf?.(record))]

export const exportBrand = (record: OwnRecord, files: readonly ExportedFile[]) => [
  exported('whitelabel', record, { id: 'whitelabel', files }),
]

/** Kinds of which each record is one document. */
export const plainExports = {
  whitelabel_email: plain('whitelabel_email', () => ({ more: { verified: false } })),
  multi_factor: plain('provider', () => ({ more: { pvt_provider_type: providerType } })),
  token_restrictions: plain('token_restrictions', () => ({ id: 'token_restrictions' })),
  apps_store: plain('apps_store', ({ doc: { apps, blacklist } }) => ({
    id: 'apps_store',
    fields: { apps, blacklist },
  })),
  webhook: plain('webhook', ({ hidden }) => ({
    database: 'webhooks',
    more: { pvt_disabled_message: hidden.disableReason },
  })),
  security: plain('account_config'),
  account_config: plain('account_config'),
  service_plan: plain('service_plan'),
  callflow: plain('callflow'),
  group: plain('group'),
  resource: plain('resource'),
  connectivity: plain('sys_info'),
}

export const createExports = ({ records, accounts, quantities, rows }: KindDeps) => {
  const photoOf = async ({ accountId, id }: OwnRecord) => {
    const photo = await records.find(accountId, userPhotoKind, id)
    return photo && fileOf(photo, 'photo')
  }

  const brandFilesOf = async ({ accountId }: OwnRecord) => {
    const found = await Promise.all(fileKinds.map((id) => records.find(accountId, brandFileKind, id)))
    return found.flatMap((file) => (file ? [fileOf(file, String(file.doc.name ?? `${file.id}-file`))] : []))
  }

  const docAt = async (accountId: string, kind: string, id: string) =>
    (await records.find(accountId, kind, id))?.doc

  const ofServices = async (record: Omit<OwnRecord, 'hidden'>, { account, resellerId }: RecordOwner) => {
    const { tree, isReseller } = account.hidden
    return exportServices(record, { tree, isReseller, resellerId, counts: await quantities.of(account.id) })
  }

  const taskFiles = async (record: OwnRecord) => {
    const input = await rows.taskFile(record, 'in.csv', largestFile)
    const body = await rows.taskFile(record, 'out', largestFile)
    const { columns } = record.hidden
    const header = Array.isArray(columns) ? Buffer.from(csvLine(columns)) : Buffer.alloc(0)
    return { input, output: body && Buffer.concat([header, body]) }
  }

  const ofAccount: Exports = {
    ...plainExports,
    account: (record, { account, resellerId }) =>
      exportAccount(record, { resellerId, apiKey: accounts.apiKeyOf(account) }),
    user: async (record) => exportUser(record, await photoOf(record)),
    device: (record) => exportWithLimits('device', record),
    whitelabel: async (record) => exportBrand(record, await brandFilesOf(record)),
    notification: (record) => [exportNotice(record)],
    services: async (record, whose) => [await ofServices(record, whose)],
    limits: async (record) =>
      exportLimits(record, (await docAt(record.accountId, 'operator_limits', record.accountId)) ?? {}),
    operator_limits: async (record) =>
      (await docAt(record.accountId, 'limits', record.accountId))
        ? []
        : exportLimits({ ...record, doc: {} }, record.doc),
    task: async (record) => exportTask(record, await taskFiles(record)),
  }

  const ofSystem: Exports = {
    alert: (record, { account }) => exportAlert(record, account.id),
    rate: (record, { account }) => exportRate(record, account.id),
    notification: (record, { account }) => [exportNotice(record, account.id)],
    [settingsKind]: (record, { account }) =>
      record.id === mastersSetting ? [] : exportSetting(record, account.id),
  }

  /** For accounts without a record of services. */
  const soldNothing = (whose: RecordOwner) => ofServices({ ...whose.account, doc: {} }, whose)

  return { ofAccount, ofSystem, soldNothing, docAt }
}
