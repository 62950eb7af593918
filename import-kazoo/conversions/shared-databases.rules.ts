import { keysOf } from '../../src/areas/events/alerts/rules.ts'
import { alertKeys } from '../../src/areas/events/alerts/schema.ts'
import { webhookKinds } from '../../src/areas/events/webhooks/rules.ts'
import type { TaskStatus } from '../../src/areas/work/tasks/rules.ts'
import { taskStatuses } from '../../src/areas/work/tasks/schema.ts'
import { isTrue, type Json } from '../../src/lib/json.ts'
import { memberOf } from '../../src/lib/member.ts'
import type { Converted, KazooDocument } from '../documents/document.ts'
import {
  attachmentsOf,
  fileAs,
  integerIn,
  isGone,
  listIn,
  publicPart,
  textIn,
  timesOf,
} from '../documents/fields.ts'
import { type ExportedDocument, exported, type OwnRecord } from '../export/document.ts'
import { converted, leftOut, type Notes, notesOf, unconverted } from './findings.ts'
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
  listIn(value).flatMap((entry) => {
    const type = textIn(entry, 'type')
    const said = memberOf(entry, 'value')
    const isList = Array.isArray(said) && said.every((one) => typeof one === 'string')
    return type !== undefined && (typeof said === 'string' || isList) ? [{ type, value: said }] : []
  })

const audiences = ['all', 'users', 'admins']

const isSomebody = (pair: Pair) => keysOf(pair).length > 0

/** Older alerts name accounts and people separately. */
const recipientsOf = (fields: Json): Pair[] => {
  const pairs = pairsIn(fields.to)
  const accounts = pairs.filter(({ type }) => type === 'account')
  const isAudience = ({ type, value }: Pair) =>
    accounts.length > 0 && type === 'user' && typeof value === 'string' && audiences.includes(value)
  const people = pairs.filter(isAudience).flatMap(({ value }) => value)
  const combined = accounts.flatMap(({ value: account }) =>
    (people.length === 0 ? ['users'] : people).flatMap((value): Pair[] => {
      if (typeof account !== 'string') return []
      if (account !== 'descendants') return [{ type: account, value }]
      return [{ type: account, value: [textIn(fields, 'pvt_account_id') ?? '', value] }]
    }),
  )
  return [...pairs.filter((pair) => !accounts.includes(pair) && !isAudience(pair)), ...combined]
}

const sendersOf = (fields: Json): Json[] => {
  const found = pairsIn(fields.from).filter(
    ({ type, value }) => ['account', 'user'].includes(type) && typeof value === 'string',
  )
  const sender = textIn(fields, 'pvt_account_id')
  return found.length > 0 || sender === undefined
    ? found.map((pair) => ({ ...pair }))
    : [{ type: 'account', value: sender }]
}

export const convertAlert = (document: KazooDocument, { systemId, now }: AlertContext): Converted => {
  const { fields } = document
  const isOver = (integerIn(fields, 'expiration_date') ?? Number.POSITIVE_INFINITY) <= now
  if (isGone(fields) || isOver) return converted(document, 'skipped')
  const { findings, imported, ...note } = notesOf(document)
  const { true: to = [], false: lost = [] } = Object.groupBy(
    recipientsOf(fields),
    (pair) => `${isSomebody(pair)}`,
  )
  for (const { type, value } of lost)
    note[to.length > 0 ? 'repaired' : 'needsHand']('alert_to_nobody', {
      field: 'to',
      old: [type, value].flat().join(' '),
    })
  if (to.length === 0) return preserveDocument(document, systemId, { findings })
  const known = Object.entries(fields).filter(([key]) => alertKeys.includes(key))
  return imported('alert', systemId, { doc: { ...Object.fromEntries(known), from: sendersOf(fields), to } })
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

const idForm = /^[0-9a-f]{1,32}$/

export const convertTask = (document: KazooDocument, context: OwnerContext): Converted =>
  ofOwner(document, context, (accountId) => {
    const { id, fields } = document
    if (!idForm.test(id))
      return unconverted(document, 'rejected', 'needs_hand', 'id_unknown', { field: '_id', old: id })
    const notes = notesOf(document)
    const stated = statedOf(fields)
    const status = (stated && endOf[stated]) ?? stated ?? 'internal_error'
    const old = stated ?? textIn(fields, 'pvt_status') ?? ''
    if (status !== stated) notes.repaired('task_ended', { field: 'pvt_status', old, new: status })
    const files = attachmentsOf(document, 'text/csv').map((file) => fileAs(roles[file.name] ?? '', file))
    for (const { role, name } of files) if (role === '') notes.leftOut('file_left', { field: name })
    noteFilesElsewhere(document, notes)
    const doc = taskDoc(document, accountId, status, notes)
    return notes.imported('task', accountId, { doc, files: files.filter(({ role }) => role !== '') })
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
    const { findings, needsHand, imported } = notesOf(document)
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
    return imported('webhook', accountId, { doc })
  })
