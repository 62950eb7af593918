// Who started a task is told by mail how it ended. Nobody is when an API key did: a program reads the status.
import { accountKind, userKind } from '../../../auth/identity.ts'
import type { Mail } from '../../../mail/mail.ts'
import type { ChangeSet } from '../../../storage/change-set.ts'
import type { Records } from '../../../storage/records.ts'
import type { TaskRecord } from '../store.ts'

export const createTeller =
  (records: Records, mail: Pick<Mail, 'notify'>) =>
  async (set: ChangeSet, { id, accountId, doc, hidden }: TaskRecord) => {
    const { starter } = hidden
    const user = starter && (await records.find(starter.accountId, userKind, starter.userId))
    const account = await records.find(accountId, accountKind, accountId)
    if (!user?.doc.email || !account) return
    await mail.notify(set, {
      notice: 'task_finished',
      account,
      to: [user.doc.email],
      accountOfThose: user.accountId,
      values: {
        'task.id': id,
        'task.category': doc.category,
        'task.action': doc.action,
        'task.file_name': doc.file_name ?? '',
        'task.status': doc.status,
        'task.success_count': String(doc.success_count ?? 0),
        'task.failure_count': String(doc.failure_count ?? 0),
      },
    })
  }
