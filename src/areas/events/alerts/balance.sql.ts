import type { AccountRecord } from '../../../auth/identity.ts'
import type { JobKind } from '../../../jobs/queue.ts'
import { memberOf } from '../../../lib/member.ts'
import { decimalsOf, dollarsOfUnits, unitsOfDollars } from '../../../lib/money.ts'
import { ChangeSet, conflict } from '../../../storage/change-set.ts'
import type { Statement } from '../../../storage/db.ts'
import type { Store } from '../../../storage/store.ts'
import type { Accounts } from '../../accounts/accounts/operations.ts'
import type { DepsOf } from '../../area.ts'
import { lowBalanceNotice } from './notices.ts'

const createWatchStore = ({ all }: Store) => ({
  /** Unix milliseconds; 0: not since the balance became low. */
  async mailedAt(accountId: string): Promise<number> {
    const [row] = await all<{ mailed_at: number }>(
      'SELECT mailed_at FROM balance_watch WHERE account_id = $1',
      [accountId],
    )
    return row?.mailed_at ?? 0
  },

  forget: (accountId: string): Statement => ({
    sql: 'DELETE FROM balance_watch WHERE account_id = $1',
    params: [accountId],
  }),

  /** If two change sets report the same balance, one succeeds. */
  told: (set: ChangeSet, accountId: string, before: number, now: number) =>
    set.run(
      `INSERT INTO balance_watch (account_id, mailed_at) VALUES ($1, $3)
        ON CONFLICT (account_id) DO UPDATE SET mailed_at = excluded.mailed_at WHERE balance_watch.mailed_at = $2`,
      [accountId, before, now],
      { rows: 1, orElse: conflict },
    ),
})

/** A low balance is reported once in this time. */
export const pauseMs = 24 * 3_600_000

const usualThresholdUnits = 50_000

interface NoticedDoc {
  name: string
  notifications?: unknown
}

const noticeOf = (doc: NoticedDoc | undefined) => {
  const notice = memberOf(doc?.notifications, 'low_balance')
  return { enabled: memberOf(notice, 'enabled'), threshold: memberOf(notice, 'threshold') }
}

const wantsMail = (doc: NoticedDoc) => noticeOf(doc).enabled === true

/** Undefined: the account has no threshold, and no email about low balances. */
const noticeThreshold = (doc: NoticedDoc): number | undefined => {
  const { threshold } = noticeOf(doc)
  if (typeof threshold === 'number' && decimalsOf(threshold) !== undefined) return unitsOfDollars(threshold)
  return wantsMail(doc) ? usualThresholdUnits : undefined
}

const sameNotice = (a: NoticedDoc | undefined, b: NoticedDoc) =>
  JSON.stringify(noticeOf(a)) === JSON.stringify(noticeOf(b))

/** At least cents. */
const inDollars = (units: number) => {
  const [whole = '0', fraction = ''] = String(dollarsOfUnits(Math.abs(units))).split('.')
  return `${units < 0 ? '-' : ''}$${whole}.${fraction.padEnd(2, '0')}`
}

interface Deps extends DepsOf<'store' | 'mail'> {
  accounts: Pick<Accounts, 'find'>
  /** Units. */
  balance(accountId: string): Promise<number>
  /** An automatic top-up comes first. */
  awaitsTopup(accountId: string): Promise<boolean>
}

const kindName = 'low_balance'
const topupPauseMs = 60_000

interface Watchable {
  id: string
  doc: NoticedDoc
}

/** Emits an event and emails the admins when a balance becomes low, and once a day while it stays low. Times in Unix milliseconds. */
export const createBalanceWatch = ({ store, accounts, mail, balance, awaitsTopup }: Deps) => {
  const rows = createWatchStore(store)
  const { clock } = store

  const notice = async (
    account: AccountRecord,
    { units, threshold, mailedAt }: Record<'units' | 'threshold' | 'mailedAt', number>,
  ) => {
    const set = new ChangeSet({ requestId: 'low_balance' })
    rows.told(set, account.id, mailedAt, clock.now())
    const values = { current_balance: inDollars(units), threshold: inDollars(threshold) }
    if (wantsMail(account.doc)) await mail.notify(set, { notice: lowBalanceNotice, account, to: [], values })
    const after = JSON.stringify({ balance: dollarsOfUnits(units), threshold: dollarsOfUnits(threshold) })
    const told = { action: 'created', event: 'balance.low', after } as const
    return set.record({ accountId: account.id, kind: 'low_balance', id: account.id, ...told })
  }

  const kind: JobKind<object> = {
    kind: kindName,
    maxConcurrent: 1,
    async conclude({ accountId }) {
      const account = await accounts.find(accountId)
      const threshold = account && noticeThreshold(account.doc)
      const units = await balance(accountId)
      if (!account || threshold === undefined || units > threshold)
        return { state: 'done', outcome: 'not low', statements: [rows.forget(accountId)] }
      const now = clock.now()
      if (await awaitsTopup(accountId))
        return { state: 'waiting', dueAt: now + topupPauseMs, outcome: 'about to be topped up' }
      const mailedAt = await rows.mailedAt(accountId)
      if (mailedAt + pauseMs > now)
        return { state: 'waiting', dueAt: mailedAt + pauseMs, outcome: 'told today' }
      const set = await notice(account, { units, threshold, mailedAt })
      return { state: 'waiting', dueAt: now + pauseMs, outcome: 'told', sets: [set] }
    },
  }

  /** No job emits an event: balances move with every call. */
  const look = (set: ChangeSet, accountId: string) =>
    set.job({ kind: kindName, id: accountId, accountId, dueAt: clock.now(), payload: {} })

  return {
    job: kind,

    /** Accounts without a threshold cost nothing. */
    moved(set: ChangeSet, { id, doc }: Watchable) {
      if (noticeThreshold(doc) !== undefined) look(set, id)
    },

    changed(set: ChangeSet, before: Watchable | undefined, after: Watchable) {
      if (!sameNotice(before?.doc, after.doc)) look(set, after.id)
    },
  }
}
