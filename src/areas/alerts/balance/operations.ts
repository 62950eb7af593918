import type { AccountRecord } from '../../../auth/identity.ts'
import type { Round } from '../../../jobs/rounds.ts'
import { Failure } from '../../../lib/failure.ts'
import type { Mail } from '../../../mail/mail.ts'
import { ChangeSet } from '../../../storage/change-set.ts'
import type { Store } from '../../../storage/store.ts'
import type { Accounts } from '../../accounts/operations.ts'
import { inDollars, type NoticedDoc, noticeThreshold, pauseMs, sameNotice } from './rules.ts'
import { createWatchStore, type Watched } from './store.ts'

interface Tools {
  store: Store
  accounts: Pick<Accounts, 'find'>
  mail: Mail
  /** Units. */
  balance(accountId: string): Promise<number>
  /** Whether the account is about to be topped up by itself: then that comes first. */
  awaitsTopup(accountId: string): Promise<boolean>
}

const perLook = 100
const topupPauseMs = 60_000

/** Whose balance may have to be looked at. */
interface Watchable {
  id: string
  doc: NoticedDoc
}

/** Tells the admins of an account by mail that its balance is low: once for each time it becomes so, and once a day. */
export const createBalanceWatch = ({ store, accounts, mail, balance, awaitsTopup }: Tools) => {
  const rows = createWatchStore(store)
  const { clock } = store

  const tell = async (watched: Watched, account: AccountRecord, units: number, threshold: number) => {
    const now = clock.now()
    const set = new ChangeSet({ requestId: 'low_balance' })
    rows.told(set, watched, now, now + pauseMs)
    const values = { current_balance: inDollars(units), threshold: inDollars(threshold) }
    await mail.notify(set, { notice: 'low_balance', account, to: [], values })
    set.record({ accountId: account.id, kind: 'low_balance', id: account.id, action: 'created' })
    await store.commit(set)
  }

  const look = async (watched: Watched) => {
    const { accountId, mailedAt } = watched
    const account = await accounts.find(accountId)
    const threshold = account && noticeThreshold(account.doc)
    const units = await balance(accountId)
    if (!account || threshold === undefined || units > threshold)
      return store.writeUnrecorded([rows.forget(watched)])
    const now = clock.now()
    if (await awaitsTopup(accountId)) return store.writeUnrecorded([rows.wait(watched, now + topupPauseMs)])
    if (mailedAt + pauseMs > now) return store.writeUnrecorded([rows.wait(watched, mailedAt + pauseMs)])
    return tell(watched, account, units, threshold)
  }

  /** What something else happened to in between is looked at again. */
  const lookSafely = async (watched: Watched) => {
    try {
      await look(watched)
    } catch (error) {
      if (!(error instanceof Failure) || error.kind !== 'datastore_conflict') throw error
    }
  }

  const round: Round = {
    name: 'low_balance',
    everySeconds: 5,
    due: async () => (await rows.due(clock.now(), 1)).length > 0,
    async run(signal) {
      for (;;) {
        const due = await rows.due(clock.now(), perLook)
        for (const watched of due) if (!signal.aborted) await lookSafely(watched)
        if (due.length < perLook || signal.aborted) return
      }
    },
  }

  return {
    round,

    /** Has the balance looked at, because it changes in this change set. Accounts that want no mail cost nothing. */
    moved(set: ChangeSet, { id, doc }: Watchable) {
      if (noticeThreshold(doc) !== undefined) rows.look(set, id, clock.now())
    },

    /** Has it looked at because the account says something else about it. */
    changed(set: ChangeSet, before: Watchable | undefined, after: Watchable) {
      if (!sameNotice(before?.doc, after.doc)) rows.look(set, after.id, clock.now())
    },
  }
}
