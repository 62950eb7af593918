import { keysOf } from '../../src/areas/events/alerts/rules.ts'
import { alertKeys } from '../../src/areas/events/alerts/schema.ts'
import { webhookKinds } from '../../src/areas/events/webhooks/rules.ts'
import type { TaskStatus } from '../../src/areas/work/tasks/rules.ts'
import { taskStatuses } from '../../src/areas/work/tasks/schema.ts'
import { isTrue, type Json } from '../../src/lib/json.ts'
import { memberOf } from '../../src/lib/member.ts'
import type { AttachedFile, Converted, KazooDocument } from '../documents/document.ts'
import { attachmentsOf, fileAs, integerIn, isGone, publicPart, textIn, timesOf } from '../documents/fields.ts'
import { type ExportedDocument, exported, type OwnRecord } from '../export/document.ts'
import { converted, finding, imported, leftOut, type Notes, notesOf, unconverted } from './findings.ts'
import { noteFilesElsewhere, preserveDocument } from './preserved.rules.ts'
import { integer, readFields, text, writeFields } from './tables.ts'

interface OwnerContext {
  accounts: { has(accountId: string): boolean }
  /** Whose what belongs to no account is. */
  systemId: string
}

/** Documents of missing accounts are left out. */
const ofOwner = (
  document: KazooDocument,
  { accounts }: Pick<OwnerContext, 'accounts'>,
  convert: (accountId: string) => Converted,
): Converted => {
  if (isGone(document.fields)) return converted(document, 'skipped')
  const owner = textIn(document.fields, 'pvt_account_id')
  if (owner !== undefined && accounts.has(owner)) return convert(owner)
  return leftOut(document, 'owner_gone', { field: 'pvt_account_id', old: owner ?? '' })
}

// Alerts that have not ended.

interface AlertContext extends OwnerContext {
  now: number
}

interface Pair {
  type: string
  value: string | string[]
}

const pairsIn = (value: unknown): Pair[] =>
  (Array.isArray(value) ? value : []).flatMap((entry) => {
    const type = textIn(entry, 'type')
    const said = memberOf(entry, 'value')
    const isList = Array.isArray(said) && said.every((one) => typeof one === 'string')
    return type !== undefined && (typeof said === 'string' || isList) ? [{ type, value: said }] : []
  })

const isSomebody = (pair: Pair) => keysOf(pair).length > 0

const audiences = ['all', 'users', 'admins']

/** Older alerts name accounts and people separately. */
const combined = (accounts: readonly Pair[], people: readonly Pair[], senderId: string): Pair[] =>
  accounts.flatMap(({ value: account }) => {
    const values = people.length === 0 ? ['users'] : people.map(({ value }) => value)
    return values.flatMap((value): Pair[] => {
      if (typeof account !== 'string' || typeof value !== 'string') return []
      if (account === 'descendants') return [{ type: account, value: [senderId, value] }]
      return [{ type: account, value }]
    })
  })

const recipientsOf = (fields: Json): { to: Pair[]; lost: Pair[] } => {
  const pairs = pairsIn(fields.to)
  const accounts = pairs.filter(({ type }) => type === 'account')
  const people = pairs.filter(
    ({ type, value }) =>
      accounts.length > 0 && type === 'user' && typeof value === 'string' && audiences.includes(value),
  )
  const plain = pairs.filter((pair) => !accounts.includes(pair) && !people.includes(pair))
  const all = [...plain, ...combined(accounts, people, textIn(fields, 'pvt_account_id') ?? '')]
  return { to: all.filter(isSomebody), lost: all.filter((pair) => !isSomebody(pair)) }
}

const sendersOf = (fields: Json): Json[] => {
  const found = pairsIn(fields.from).filter(
    ({ type, value }) => ['account', 'user'].includes(type) && typeof value === 'string',
  )
  const sender = textIn(fields, 'pvt_account_id')
  if (found.length > 0 || sender === undefined) return found.map((pair) => ({ ...pair }))
  return [{ type: 'account', value: sender }]
}

const textOf = ({ type, value }: Pair) => [type, value].flat().join(' ')

const isOver = (fields: Json, now: number) => {
  const end = integerIn(fields, 'expiration_date')
  return end !== undefined && end <= now
}

const alertDoc = (fields: Json, to: readonly Pair[]): Json => ({
  ...Object.fromEntries(Object.entries(fields).filter(([key]) => alertKeys.includes(key))),
  from: sendersOf(fields),
  to,
})

export const convertAlert = (document: KazooDocument, { systemId, now }: AlertContext): Converted => {
  const { fields } = document
  if (isGone(fields) || isOver(fields, now)) return converted(document, 'skipped')
  const { to, lost } = recipientsOf(fields)
  const findings = lost.map((pair) =>
    finding(document, to.length > 0 ? 'repaired' : 'needs_hand', 'alert_to_nobody', {
      field: 'to',
      old: textOf(pair),
    }),
  )
  if (to.length === 0) return preserveDocument(document, systemId, { findings })
  return imported(document, 'alert', systemId, { doc: alertDoc(fields, to), findings })
}

/** Alerts of the server and of people come from the master account. */
const exportedSender = ({ from }: Json, masterId: string) => {
  const account = pairsIn(from).find(({ type }) => type === 'account')
  return typeof account?.value === 'string' ? account.value : masterId
}

export const exportAlert = (record: OwnRecord, masterId: string): ExportedDocument[] => {
  if (record.hidden.cause !== undefined) return []
  const accountId = exportedSender(record.doc, masterId)
  return [exported('alert', record, { database: 'alerts', accountId })]
}

const taskFields = [
  text('auth_account_id', 'pvt_auth_account_id'),
  text('category', 'pvt_category'),
  text('action', 'pvt_action'),
  text('status', 'pvt_status'),
  integer('submit_timestamp', 'pvt_submitted_at'),
  integer('start_timestamp', 'pvt_started_at'),
  integer('end_timestamp', 'pvt_ended_at'),
  text('node', 'pvt_worker_node'),
  text('file_name', 'pvt_file_name', 'pvt_input_name'),
  integer('total_count', 'pvt_total_rows'),
  integer('success_count', 'pvt_total_rows_succeeded'),
  integer('failure_count', 'pvt_total_rows_failed'),
]

/** Without a status, the times imply it. */
const statedOf = (fields: Json): TaskStatus | undefined => {
  const status = textIn(fields, 'pvt_status')
  if (status !== undefined) return taskStatuses.find((known) => known === status)
  if (integerIn(fields, 'pvt_started_at') === undefined) return 'pending'
  return integerIn(fields, 'pvt_ended_at') === undefined ? 'executing' : undefined
}

/** Statuses of tasks that may still run. No task starts because of an import or an export. */
const endOf: Readonly<Record<string, TaskStatus>> = { executing: 'internal_error', pending: 'stopped' }

const roles: Readonly<Record<string, string>> = { 'in.csv': 'input', 'out.csv': 'output' }

const attached = (document: KazooDocument): AttachedFile[] =>
  attachmentsOf(document, 'text/csv').map((file) => fileAs(roles[file.name] ?? '', file))

const taskDoc = ({ fields }: KazooDocument, accountId: string, status: TaskStatus, notes: Notes): Json => {
  const { created, modified } = timesOf(fields)
  const isEnded = status !== 'stopped' || integerIn(fields, 'pvt_started_at') !== undefined
  return {
    account_id: accountId,
    auth_account_id: accountId,
    category: '',
    action: '',
    submit_timestamp: created,
    ...(isEnded ? { end_timestamp: modified } : {}),
    ...readFields(taskFields, fields, notes),
    status,
  }
}

const isKnownId = (id: string) => /^[0-9a-f]{1,32}$/.test(id)

export const convertTask = (document: KazooDocument, context: OwnerContext): Converted =>
  ofOwner(document, context, (accountId) => {
    const { id, fields } = document
    if (!isKnownId(id))
      return unconverted(document, 'rejected', 'needs_hand', 'id_unknown', { field: '_id', old: id })
    const notes = notesOf(document)
    const { findings, repaired, leftOut } = notes
    const stated = statedOf(fields)
    const status = (stated && endOf[stated]) ?? stated ?? 'internal_error'
    if (status !== stated) {
      const old = stated ?? textIn(fields, 'pvt_status') ?? ''
      repaired('task_ended', { field: 'pvt_status', old, new: status })
    }
    const all = attached(document)
    for (const { role, name } of all) if (role === '') leftOut('file_left', { field: name })
    noteFilesElsewhere(document, notes)
    const files = all.filter(({ role }) => role !== '')
    const doc = taskDoc(document, accountId, status, notes)
    return imported(document, 'task', accountId, { doc, files, findings })
  })

export const exportTask = (
  record: OwnRecord,
  files: { input: Buffer | undefined; output: Buffer | undefined },
): ExportedDocument[] => {
  const status = String(record.doc.status)
  const csv = (name: string, bytes: Buffer | undefined) =>
    bytes ? [{ name, contentType: 'text/csv', bytes }] : []
  return [
    exported('task', record, {
      database: 'tasks',
      fields: {},
      more: writeFields(taskFields, { ...record.doc, status: endOf[status] ?? status }),
      files: [...csv('in.csv', files.input), ...csv('out.csv', files.output)],
    }),
  ]
}

// Webhooks are imported disabled: otherwise both systems would call.

const kinds: ReadonlySet<string> = new Set(webhookKinds([]).map(({ id }) => id))

/** The field that no webhook can be made of. */
const problemOf = ({ fields }: KazooDocument, typeNames: ReadonlySet<string>): string | undefined => {
  const hook = textIn(fields, 'hook')
  if (textIn(fields, 'uri') === undefined) return 'uri'
  return hook !== undefined && (kinds.has(hook) || typeNames.has(hook)) ? undefined : 'hook'
}

// Computed here.
const echoes = ['id', 'disable_reason', 'enabled']

interface WebhookContext extends OwnerContext {
  /** Names of event types, which hooks may have. */
  typeNames: ReadonlySet<string>
}

export const convertWebhook = (document: KazooDocument, context: WebhookContext): Converted =>
  ofOwner(document, context, (accountId) => {
    const { fields } = document
    const { findings, needsHand } = notesOf(document)
    const problem = problemOf(document, context.typeNames)
    if (problem) {
      // An address may contain a key: it is not shown.
      const old = problem === 'hook' ? (textIn(fields, 'hook') ?? '') : undefined
      needsHand('webhook_not_taken', { field: problem, old })
      return preserveDocument(document, accountId, { findings })
    }
    if (fields.enabled === undefined || isTrue(fields.enabled))
      needsHand('webhook_switched_off', { field: 'enabled', old: 'true', new: 'false' })
    const name = textIn(fields, 'name') ?? document.id
    const doc = { ...publicPart(fields, echoes), name, enabled: false }
    return imported(document, 'webhook', accountId, { doc, findings })
  })

export const exportWebhook = (record: OwnRecord): ExportedDocument[] => [
  exported('webhook', record, {
    database: 'webhooks',
    more: { pvt_disabled_message: record.hidden.disableReason },
  }),
]
