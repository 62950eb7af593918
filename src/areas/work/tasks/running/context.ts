// For whom a task works, and whether it still may.
import { type Actor, accountKind, isInService, userKind } from '../../../../auth/identity.ts'
import type { Store } from '../../../../storage/store.ts'
import type { TaskAction, TaskContext } from '../actions.ts'
import { authorOf, type TaskRecord } from '../store.ts'

const makerOf = async (store: Store, { doc, hidden }: TaskRecord): Promise<Actor | undefined> => {
  const { records } = store
  const accountId = doc.auth_account_id
  const account = await records.find(accountId, accountKind, accountId)
  if (!account || !(await isInService(store, account))) return undefined
  const user = hidden.authUserId ? await records.find(accountId, userKind, hidden.authUserId) : undefined
  if (hidden.authUserId && (!user || user.doc.enabled === false)) return undefined
  return { accountId, account, user, method: hidden.authMethod, claims: undefined, token: undefined }
}

/**
 * The context as things stand now, whichever process changed them; undefined when the task's maker is gone or may no
 * longer do this. `terms`: the price lists that the task agrees to.
 */
export const contextOf = async (
  store: Store,
  task: TaskRecord,
  action: TaskAction,
  terms?: unknown,
): Promise<TaskContext | undefined> => {
  const { records } = store
  await store.fence()
  const { accountId, doc, hidden } = task
  const account = await records.find(accountId, accountKind, accountId)
  const actor = await makerOf(store, task)
  if (!account || !actor || !action.allow.allows(actor, account, { account_id: accountId })) return undefined
  const { taskId, count } = hidden.rowsBefore ?? { taskId: task.id, count: 0 }
  return {
    idOfRow: (number) => `${taskId}-${count + number}`,
    account,
    actor,
    author: {
      ...authorOf(task),
      ...(terms === undefined ? {} : { consent: { terms, toJSON: () => undefined } }),
    },
    dryRun: doc.dry_run === true,
    acceptsCharges: doc.accept_charges !== false,
    parameters: doc.parameters ?? {},
  }
}
