// For whom a task works, and whether it still may.
import { type Actor, accountKind, userKind } from '../../../auth/identity.ts'
import { disabledOf } from '../../../auth/standing.ts'
import type { Records } from '../../../storage/records.ts'
import type { Store } from '../../../storage/store.ts'
import type { TaskAction, TaskContext } from '../actions.ts'
import { authorOf, type TaskRecord } from '../store.ts'

const makerOf = async (records: Records, { doc, hidden }: TaskRecord): Promise<Actor | undefined> => {
  const accountId = doc.auth_account_id
  const account = await records.find(accountId, accountKind, accountId)
  if (!account || (await disabledOf(records, account)) !== undefined) return undefined
  const user = hidden.authUserId ? await records.find(accountId, userKind, hidden.authUserId) : undefined
  if (hidden.authUserId && (!user || user.doc.enabled === false)) return undefined
  return { accountId, account, user, method: hidden.authMethod, claims: undefined, token: undefined }
}

/** The context as things stand now, whichever process changed them; undefined when the task's maker is gone or may no longer do this. */
export const contextOf = async (
  { records, fence }: Store,
  task: TaskRecord,
  action: TaskAction,
): Promise<TaskContext | undefined> => {
  await fence()
  const { accountId, doc, hidden } = task
  const account = await records.find(accountId, accountKind, accountId)
  const actor = await makerOf(records, task)
  if (!account || !actor || !action.allow.allows(actor, account, { account_id: accountId })) return undefined
  const { taskId, count } = hidden.rowsBefore ?? { taskId: task.id, count: 0 }
  return {
    idOfRow: (number) => `${taskId}-${count + number}`,
    account,
    actor,
    author: authorOf(task),
    dryRun: doc.dry_run === true,
    acceptsCharges: doc.accept_charges !== false,
    parameters: doc.parameters ?? {},
  }
}
