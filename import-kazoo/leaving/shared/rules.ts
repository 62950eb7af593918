// What lies in databases that all accounts share.
import { isObject, type Json } from '../../../src/lib/json.ts'
import { isFollowed } from '../../conversions/settings/rules.ts'
import { publicPart } from '../../documents/fields.ts'
import { type LeavingDocument, type LeavingFile, type OwnRecord, present, stamped } from '../document.ts'
import { leavingNotice } from '../people/rules.ts'

const inDatabase = (
  database: string,
  type: string,
  accountId: string,
  record: OwnRecord,
  { more = {}, files = [] }: { more?: Json; files?: readonly LeavingFile[] } = {},
): LeavingDocument => ({
  database,
  id: record.id,
  type,
  fields: { ...publicPart(record.doc, ['id']), ...stamped(type, accountId, record, database), ...more },
  files,
})

/** The account that an alert comes from; the master's where it comes from the server or a person. */
const senderOf = ({ from }: Json, masterId: string) => {
  const all: readonly unknown[] = Array.isArray(from) ? from : []
  const account = all.find((one) => isObject(one) && one.type === 'account')
  return isObject(account) && typeof account.value === 'string' ? account.value : masterId
}

/** An alert of somebody; those that the server has made of what it saw are its own. */
export const leavingAlert = (record: OwnRecord, masterId: string): LeavingDocument[] =>
  record.hidden.cause === undefined
    ? [inDatabase('alerts', 'alert', senderOf(record.doc, masterId), record)]
    : []

/** A webhook, on or off as it is here. */
export const leavingWebhook = (record: OwnRecord): LeavingDocument[] => [
  inDatabase('webhooks', 'webhook', record.accountId, record, {
    more: present({ pvt_disabled_message: record.hidden.disableReason }),
  }),
]

// Nothing of it may start there.
const endOf: Readonly<Record<string, string>> = { executing: 'internal_error', pending: 'stopped' }

/** The history of a task, with its files. */
export const leavingTask = (
  record: OwnRecord,
  files: { input: Buffer | undefined; output: Buffer | undefined },
): LeavingDocument[] => {
  const { accountId, doc } = record
  const status = String(doc.status)
  const csv = (name: string, bytes: Buffer | undefined) =>
    bytes ? [{ name, contentType: 'text/csv', bytes }] : []
  return [
    {
      database: 'tasks',
      id: record.id,
      type: 'task',
      fields: present({
        ...stamped('task', accountId, record, 'tasks'),
        pvt_auth_account_id: doc.auth_account_id,
        pvt_category: doc.category,
        pvt_action: doc.action,
        pvt_status: endOf[status] ?? status,
        pvt_submitted_at: doc.submit_timestamp,
        pvt_started_at: doc.start_timestamp,
        pvt_ended_at: doc.end_timestamp,
        pvt_worker_node: doc.node,
        pvt_file_name: doc.file_name,
        pvt_total_rows: doc.total_count,
        pvt_total_rows_succeeded: doc.success_count,
        pvt_total_rows_failed: doc.failure_count,
      }),
      files: [...csv('in.csv', files.input), ...csv('out.csv', files.output)],
    },
  ]
}

const mainDeck = 'ratedeck'

/** The price of calls; there the database says which deck it is in. */
export const leavingRate = (record: OwnRecord, masterId: string): LeavingDocument[] => {
  const deck = typeof record.doc.ratedeck_id === 'string' ? record.doc.ratedeck_id : mainDeck
  const database = deck === mainDeck ? mainDeck : `${mainDeck}/${deck}`
  return [inDatabase(database, 'rate', masterId, record)]
}

/** What stands in another document there. */
const timezoneKey = 'default_timezone'

/**
 * Settings that both follow, section by section. Others are this server's own: a Kazoo goes by what it has built in.
 */
export const leavingSetting = (record: OwnRecord, masterId: string): LeavingDocument[] => {
  const { id, doc } = record
  const sections = Object.entries(publicPart(doc)).flatMap(([name, section]) => {
    if (!isObject(section)) return []
    const values = Object.entries(section).filter(([key]) => isFollowed(id, key))
    return values.length > 0 ? [[name, Object.fromEntries(values)] as const] : []
  })
  if (sections.length === 0) return []
  return [inDatabase('system_config', 'config', masterId, { ...record, doc: Object.fromEntries(sections) })]
}

/** What the document `accounts` says there and `crossbar.accounts` here. */
export const accountsSetting = (doc: Json): Json =>
  Object.fromEntries(
    Object.entries(publicPart(doc)).flatMap(([name, section]) =>
      isObject(section) && section[timezoneKey] !== undefined
        ? [[name, { [timezoneKey]: section[timezoneKey] }]]
        : [],
    ),
  )

/** A notice as it holds for everybody. */
export const leavingSystemNotice = (record: OwnRecord, masterId: string): LeavingDocument[] => {
  const notice = leavingNotice(record)
  const stamps = stamped('notification', masterId, record, 'system_config')
  return [{ ...notice, database: 'system_config', fields: { ...notice.fields, ...stamps } }]
}
