// What becomes of records, by their kind.

import type { Accounts } from '../../src/areas/accounts/operations.ts'
import type { QuantityBook } from '../../src/areas/services/quantities/operations.ts'
import { type AccountHidden, type AccountRecord, userPhotoKind } from '../../src/auth/identity.ts'
import { csvLine } from '../../src/lib/csv.ts'
import type { Json } from '../../src/lib/json.ts'
import { unitsOfDollars } from '../../src/lib/money.ts'
import { settingsKind } from '../../src/settings/settings.ts'
import type { StoredRecord } from '../../src/storage/records.ts'
import type { Store } from '../../src/storage/store.ts'
import { leavingAccount } from './accounts/rules.ts'
import { type LeavingDocument, type LeavingFile, type OwnRecord, plainDocument } from './document.ts'
import {
  leavingApps,
  leavingBrand,
  leavingDevice,
  leavingLimits,
  leavingNotice,
  leavingProvider,
  leavingRestrictions,
  leavingSender,
  leavingUser,
} from './people/rules.ts'
import { leavingServices } from './services/rules.ts'
import {
  leavingAlert,
  leavingRate,
  leavingSetting,
  leavingSystemNotice,
  leavingTask,
  leavingWebhook,
} from './shared/rules.ts'
import type { LeavingStore } from './store.ts'

interface KindTools {
  store: Pick<Store, 'records'>
  accounts: Pick<Accounts, 'apiKeyOf'>
  quantities: Pick<QuantityBook, 'of'>
  rows: Pick<LeavingStore, 'taskFile'>
}

/** The account whose records are being written. */
export interface Whose {
  account: AccountRecord
  resellerId: string
}

type Leave = (record: OwnRecord, whose: Whose) => LeavingDocument[] | Promise<LeavingDocument[]>

export type Leaves = Readonly<Record<string, Leave>>

// Of a task's files; what an import takes in again.
const largestFile = 16_777_216
const brandFiles = ['logo', 'icon', 'welcome'] as const
const brandFileKind = 'whitelabel_file'

/** A document of settings that is written with the master account. */
export const mastersSetting = 'accounts'

// What goes with the record that it belongs to.
const withOthers: ReadonlySet<string> = new Set([userPhotoKind, brandFileKind])

// What this server notes for itself: it says nothing to another one.
const ownNotes: ReadonlySet<string> = new Set([
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

/** Whether nothing is to be told of a kind by itself. */
export const isPassedOver = (kind: string) => withOthers.has(kind) || ownNotes.has(kind)

/** Whether a record is a part of a document that another one stands for. */
export const isElsewhere = ({ kind, id }: Pick<StoredRecord, 'kind' | 'id'>) =>
  kind === 'operator_limits' || (kind === settingsKind && id === mastersSetting)

export const ownRecord = ({
  accountId,
  id,
  created,
  modified,
  doc,
  hidden,
}: Pick<StoredRecord, 'accountId' | 'id' | 'created' | 'modified'> & {
  doc: object
  hidden: object
}): OwnRecord => ({ accountId, id, created, modified, doc: doc as Json, hidden: hidden as Json })

const fileOf = ({ doc, hidden }: StoredRecord, name: string): LeavingFile => ({
  name,
  contentType: String(doc.content_type),
  bytes: Buffer.from(String(hidden.base64), 'base64'),
})

const plain =
  (type: string): Leave =>
  (record) => [plainDocument(type, record)]

export const createLeaves = ({ store: { records }, accounts, quantities, rows }: KindTools) => {
  const photoOf = async ({ accountId, id }: OwnRecord) => {
    const photo = await records.find(accountId, userPhotoKind, id)
    return photo && fileOf(photo, 'photo')
  }

  const brandFilesOf = async ({ accountId }: OwnRecord) => {
    const found = await Promise.all(
      brandFiles.map(async (id) => {
        const file = await records.find(accountId, brandFileKind, id)
        return file ? [fileOf(file, String(file.doc.name ?? `${id}-file`))] : []
      }),
    )
    return found.flat()
  }

  const limitsOf = async (record: OwnRecord, operator: Json | undefined) =>
    leavingLimits(record, { wishes: record.doc, operator: operator ?? {} }, unitsOfDollars)

  const docAt = async (accountId: string, kind: string, id: string) =>
    (await records.find(accountId, kind, id))?.doc

  const soldTo = async ({ account, resellerId }: Whose) => {
    const { tree, isReseller } = account.hidden
    return { tree, isReseller, resellerId, counts: await quantities.of(account.id) }
  }

  const taskOf: Leave = async (record) => {
    const input = await rows.taskFile(record, 'in.csv', largestFile)
    const body = await rows.taskFile(record, 'out', largestFile)
    const { columns } = record.hidden
    const header = Array.isArray(columns) ? Buffer.from(csvLine(columns)) : Buffer.alloc(0)
    return leavingTask(record, { input, output: body && Buffer.concat([header, body]) })
  }

  /** What becomes of the records of an account, by their kind. */
  const ofAccount: Leaves = {
    account: (record, { account, resellerId }) =>
      leavingAccount({
        record,
        hidden: account.hidden as AccountHidden,
        resellerId,
        apiKey: accounts.apiKeyOf(account),
      }),
    user: async (record) => leavingUser(record, await photoOf(record)),
    device: leavingDevice,
    whitelabel: async (record) => leavingBrand(record, await brandFilesOf(record)),
    whitelabel_email: leavingSender,
    notification: (record) => [leavingNotice(record)],
    multi_factor: leavingProvider,
    token_restrictions: leavingRestrictions,
    security: plain('account_config'),
    account_config: plain('account_config'),
    service_plan: plain('service_plan'),
    services: async (record, whose) => [leavingServices(record, await soldTo(whose))],
    limits: async (record) =>
      limitsOf(record, await docAt(record.accountId, 'operator_limits', record.accountId)),
    operator_limits: async (record) =>
      (await docAt(record.accountId, 'limits', record.accountId))
        ? []
        : limitsOf({ ...record, doc: {} }, record.doc),
    callflow: plain('callflow'),
    group: plain('group'),
    resource: plain('resource'),
    connectivity: plain('sys_info'),
    apps_store: leavingApps,
    webhook: leavingWebhook,
    task: taskOf,
  }

  /** What becomes of what belongs to no account. */
  const ofSystem = (masterId: string): Leaves => ({
    alert: (record) => leavingAlert(record, masterId),
    rate: (record) => leavingRate(record, masterId),
    notification: (record) => leavingSystemNotice(record, masterId),
    [settingsKind]: (record) => (record.id === mastersSetting ? [] : leavingSetting(record, masterId)),
  })

  /** What is sold to an account that has no record of it. */
  const soldNothing = async (whose: Whose) =>
    leavingServices({ ...ownRecord(whose.account), doc: {} }, await soldTo(whose))

  return { ofAccount, ofSystem, soldNothing, docAt }
}
