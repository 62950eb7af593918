// The history of tasks. No task starts because of an import or an export.

import type { TaskStatus } from '../../../src/areas/work/tasks/rules.ts'
import { taskStatuses } from '../../../src/areas/work/tasks/schema.ts'
import type { Json } from '../../../src/lib/json.ts'
import type { AttachedFile, Converted, KazooDocument } from '../../documents/document.ts'
import { attachmentsOf, fileAs, integerIn, textIn, timesOf } from '../../documents/fields.ts'
import { exported, type LeavingDocument, type OwnRecord } from '../../leaving/document.ts'
import { imported, type Notes, notesOf, unconverted } from '../findings.ts'
import { noteFilesElsewhere } from '../kept/rules.ts'
import { type OwnerContext, ofOwner } from '../owners.ts'
import { integer, readFields, text, writeFields } from '../tables.ts'

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

/** The status that a document contains or, if it contains none, that its times imply. */
const statedOf = (fields: Json): TaskStatus | undefined => {
  const status = textIn(fields, 'pvt_status')
  if (status !== undefined) return taskStatuses.find((known) => known === status)
  if (integerIn(fields, 'pvt_started_at') === undefined) return 'pending'
  return integerIn(fields, 'pvt_ended_at') === undefined ? 'executing' : undefined
}

/** Statuses of tasks that may still run, and what they are in the other system. */
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

/** The document of a task, with its files. */
export const exportTask = (
  record: OwnRecord,
  files: { input: Buffer | undefined; output: Buffer | undefined },
): LeavingDocument[] => {
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
