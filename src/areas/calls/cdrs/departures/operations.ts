import type { AccountRecord } from '../../../../auth/identity.ts'
import type { JobKind } from '../../../../jobs/queue.ts'
import { dayMs } from '../../../../lib/gregorian.ts'
import type { Settings } from '../../../../settings/settings.ts'
import { type Author, ChangeSet, systemScope } from '../../../../storage/change-set.ts'
import type { Store } from '../../../../storage/store.ts'
import type { ArchiveRegister } from '../archive/store.ts'
import { changedLegs } from '../listing/stale.ts'
import { callRecordSettings } from '../settings.ts'
import { createDeletedAccountStore } from './store.ts'

// The call records of an account outlive it for a while, and then go some at a time: each part in one commit with how many
// went so far, so that whoever takes over from a process that died goes on where it stood.

interface Payload {
  author: Author
  /** Unix milliseconds. */
  left: number
  /** Records that are gone already. */
  records: number
}

const kindName = 'departed_calls'
// Others write in between: a million records take some 90 minutes.
const pauseMs = 1000

interface Deps {
  store: Store
  settings: Settings
  register: ArchiveRegister
}

export const createDeletedAccountCalls = ({ store, settings, register }: Deps) => {
  const { clock } = store
  const rows = createDeletedAccountStore(store, register)

  const untilGone = async (left: number) => {
    const { departed_account_days: days } = await settings.of(callRecordSettings)
    return left + days * dayMs
  }

  /** What operators read of it. */
  const noteOf = (accountId: string, { author, records }: Payload) => {
    const set = new ChangeSet(author)
    const before = JSON.stringify({ account_id: accountId, records })
    set.record({ accountId: systemScope, kind: 'cdrs', id: accountId, action: 'deleted', before })
    return set
  }

  const kind: JobKind<Payload> = {
    kind: kindName,
    atOnce: 1,
    async conclude({ accountId, payload }) {
      const now = clock.now()
      const goes = await untilGone(payload.left)
      // Looked at every day: the operator may change how long they stay.
      if (now < goes) return { state: 'waiting', dueAt: Math.min(goes, now + dayMs), payload }
      const erasure = await rows.next(accountId)
      if (!erasure) {
        const sets = payload.records > 0 ? [noteOf(accountId, payload)] : []
        return { state: 'done', outcome: `${payload.records} call records were removed`, sets }
      }
      const { statements } = erasure
      const records = payload.records + erasure.records
      const stale = [changedLegs(accountId)]
      return { state: 'waiting', dueAt: now + pauseMs, payload: { ...payload, records }, statements, stale }
    },
  }

  return {
    kind,

    /** Has what an account leaves behind removed when its time has come: part of the account's removal. */
    async begin(set: ChangeSet, { id: accountId }: AccountRecord) {
      const left = clock.now()
      const payload: Payload = { author: set.author, left, records: 0 }
      set.errand({ kind: kindName, id: accountId, accountId, dueAt: left + dayMs, payload })
    },
  }
}
