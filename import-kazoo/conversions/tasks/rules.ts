// The history of tasks. Nothing of it may start here.

import type { TaskStatus } from '../../../src/areas/tasks/rules.ts'
import { taskStatuses } from '../../../src/areas/tasks/schema.ts'
import { isObject, type Json } from '../../../src/lib/json.ts'
import { memberOf } from '../../../src/lib/member.ts'
import { attachmentsOf, fileAs } from '../../documents/attachments.ts'
import type { AttachedFile, Converted, KazooDocument } from '../../documents/document.ts'
import { integerIn, textIn, timesOf } from '../../documents/fields.ts'
import { converted, finding } from '../findings.ts'
import { draftOf, type OwnerContext, ofOwner } from '../owners.ts'

/** What a task says it is; of one that says nothing its times tell. */
const statedOf = (fields: Json): TaskStatus | undefined => {
  const text = textIn(fields, 'pvt_status')
  if (text !== undefined) return taskStatuses.find((status) => status === text)
  if (integerIn(fields, 'pvt_started_at') === undefined) return 'pending'
  return integerIn(fields, 'pvt_ended_at') === undefined ? 'executing' : undefined
}

const endOf: Readonly<Partial<Record<TaskStatus, TaskStatus>>> = {
  executing: 'internal_error',
  pending: 'stopped',
}

const roles: Readonly<Record<string, string>> = { 'in.csv': 'input', 'out.csv': 'output' }

const attached = (document: KazooDocument): AttachedFile[] =>
  attachmentsOf(document, 'text/csv').map((file) => fileAs(roles[file.name] ?? '', file))

const present = (values: Json): Json =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined))

const docOf = ({ fields }: KazooDocument, accountId: string, status: TaskStatus): Json => {
  const { created, modified } = timesOf(fields)
  const isEnded = status !== 'stopped' || integerIn(fields, 'pvt_started_at') !== undefined
  return present({
    account_id: accountId,
    auth_account_id: textIn(fields, 'pvt_auth_account_id') ?? accountId,
    category: textIn(fields, 'pvt_category') ?? '',
    action: textIn(fields, 'pvt_action') ?? '',
    status,
    submit_timestamp: integerIn(fields, 'pvt_submitted_at') ?? created,
    start_timestamp: integerIn(fields, 'pvt_started_at'),
    end_timestamp: integerIn(fields, 'pvt_ended_at') ?? (isEnded ? modified : undefined),
    node: textIn(fields, 'pvt_worker_node'),
    file_name: textIn(fields, 'pvt_file_name') ?? textIn(fields, 'pvt_input_name'),
    total_count: integerIn(fields, 'pvt_total_rows'),
    success_count: integerIn(fields, 'pvt_total_rows_succeeded'),
    failure_count: integerIn(fields, 'pvt_total_rows_failed'),
  })
}

const isKnownId = (id: string) => /^[0-9a-f]{1,32}$/.test(id)

const left = (document: KazooDocument) => {
  const elsewhere = memberOf(document.fields, 'pvt_attachments')
  return [
    ...attached(document)
      .filter(({ role }) => role === '')
      .map(({ name }) => finding(document, 'left_out', 'file_left', { field: name })),
    ...Object.keys(isObject(elsewhere) ? elsewhere : {}).map((name) =>
      finding(document, 'left_out', 'file_elsewhere', { field: name }),
    ),
  ]
}

export const convertTask = (document: KazooDocument, context: OwnerContext): Converted =>
  ofOwner(document, context, (accountId) => {
    if (!isKnownId(document.id)) {
      const told = { field: '_id', old: document.id }
      return converted(document, 'rejected', {
        findings: [finding(document, 'needs_hand', 'id_unknown', told)],
      })
    }
    const stated = statedOf(document.fields)
    const status = (stated && endOf[stated]) ?? stated ?? 'internal_error'
    const ended =
      status === stated
        ? []
        : [
            finding(document, 'repaired', 'task_ended', {
              field: 'pvt_status',
              old: stated ?? textIn(document.fields, 'pvt_status') ?? '',
              new: status,
            }),
          ]
    const files = attached(document).filter(({ role }) => role !== '')
    const draft = draftOf(document, 'task', accountId, { doc: docOf(document, accountId, status), files })
    return converted(document, 'imported', { drafts: [draft], findings: [...ended, ...left(document)] })
  })
