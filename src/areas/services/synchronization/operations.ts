import type { AccountRecord } from '../../../auth/identity.ts'
import type { Round } from '../../../jobs/rounds.ts'
import { randomHex } from '../../../lib/ids.ts'
import { describeError, type Log } from '../../../lib/log.ts'
import type { SyncOutcome } from '../../../payment/gateway.ts'
import type { Settings } from '../../../settings/settings.ts'
import type { Attached } from '../../../storage/attachment.ts'
import { type Author, ChangeSet } from '../../../storage/change-set.ts'
import { retrying, type Store } from '../../../storage/store.ts'
import type { Bookkeepers } from '../bookkeepers.ts'
import type { Books } from '../books.ts'
import type { Bookkeeper } from '../pricing/plan.ts'
import { flatItems } from '../rules.ts'
import { bookkeeperKey, bookkeeperOfKey, hasToBeTold, longestWaitMs, pauseAfter } from './rules.ts'
import { createSyncStore, type SyncNote, type WaitingSync } from './store.ts'

/** Adds to a change set that the bookkeepers of changed invoices have to be told. */
export type TellBookkeepers = (
  set: ChangeSet,
  account: Pick<AccountRecord, 'id'>,
  bookkeepers: readonly Bookkeeper[],
) => Promise<void>

/** The first half: what changes invoices comes before bookkeepers are known. */
export const createTelling = ({ store, settings }: { store: Store; settings: Settings }) => {
  const rows = createSyncStore(store)

  const tell: TellBookkeepers = async (set, { id }, bookkeepers) => {
    const { sync_buffer_period: seconds } = await settings.of('services')
    const now = store.clock.now()
    for (const bookkeeper of bookkeepers.filter(hasToBeTold))
      rows.queue(set, id, bookkeeperKey(bookkeeper), now + seconds * 1000, now)
  }

  return {
    tell,

    /** Whether a bookkeeper does not know yet how things are. */
    isDirty: async (accountId: string) => (await rows.of(accountId)).length > 0,
  }
}

interface Tools {
  store: Store
  tell: TellBookkeepers
  books: Books
  bookkeepers: Bookkeepers
  log: Log
}

const author: Author = { requestId: 'synchronization' }
const perLook = 50
const atOnce = 4

export type Synchronization = ReturnType<typeof createSynchronization>

/** Tells bookkeepers outside what is on the invoices of accounts, until they have taken it. */
export const createSynchronization = ({ store, tell: queue, books, bookkeepers, log }: Tools) => {
  const rows = createSyncStore(store)
  const { clock } = store

  /** What is on the invoice now; nothing when there is none any more. */
  const itemsOf = async ({ accountId, bookkeeper }: WaitingSync) => {
    const account = await books.account(accountId)
    const invoices = account ? await books.invoices(account) : []
    return flatItems(invoices.filter((invoice) => bookkeeperKey(invoice.bookkeeper) === bookkeeper))
  }

  const tell = async (waiting: WaitingSync, syncId: string): Promise<SyncOutcome> => {
    const bookkeeper = bookkeeperOfKey(waiting.bookkeeper)
    const gateway = bookkeepers.gateway(bookkeeper)
    if (!gateway) {
      const message = `there is no bookkeeper of type ${bookkeeper.type}`
      return { status: 'failed', reason: 'bookkeeper_fault', message }
    }
    const { accountId } = waiting
    const items = await itemsOf(waiting)
    return gateway.syncInvoice({ accountId, vendorId: bookkeeper.vendor_id, syncId, items })
  }

  const noteOf = (outcome: SyncOutcome, syncId: string): SyncNote => {
    const result = { ...outcome, sync_id: syncId }
    if (outcome.status === 'synced') return { status: 'completed', outcome: { results: [result] } }
    if (outcome.status === 'delinquent')
      return { status: 'completed', outcome: { reason: 'bookkeeper_rejection', results: [result] } }
    return {
      status: 'failed',
      outcome: { reason: 'timeout', message: outcome.message, results: [result] },
    }
  }

  const taken = (waiting: WaitingSync, syncId: string, outcome: SyncOutcome) =>
    retrying(async () => {
      const { accountId } = waiting
      const set = new ChangeSet(author)
      set.statements.push(rows.noteEntries(waiting, syncId, noteOf(outcome, syncId)), rows.done(waiting))
      set.record({ accountId, kind: 'service_sync', id: syncId, action: 'created' })
      await bookkeepers.note(set, accountId, 'bookkeeper_rejection', outcome.status === 'synced')
      await store.commit(set)
    })

  const notTaken = async (waiting: WaitingSync, syncId: string, outcome: SyncOutcome) => {
    const now = clock.now()
    const statements = [rows.postpone(waiting, now + pauseAfter(waiting.attempts))]
    const isTooLate = now - waiting.since > longestWaitMs
    if (isTooLate) statements.push(rows.noteEntries(waiting, syncId, noteOf(outcome, syncId)))
    await store.writeUnrecorded(statements)
  }

  const synchronize = async (waiting: WaitingSync) => {
    const syncId = randomHex(16)
    await rows.claimEntries(waiting, syncId)
    const outcome = await tell(waiting, syncId)
    await (outcome.status === 'failed' ? notTaken : taken)(waiting, syncId, outcome)
  }

  /** What is wrong with one account must not keep the others from being told. */
  const synchronizeSafely = async (waiting: WaitingSync) => {
    try {
      await synchronize(waiting)
    } catch (error) {
      const { accountId: account_id } = waiting
      log.write('error', 'a bookkeeper could not be told', { account_id, error: describeError(error) })
      await store.writeUnrecorded([rows.postpone(waiting, clock.now() + pauseAfter(waiting.attempts))])
    }
  }

  const synchronizeAll = async (due: readonly WaitingSync[], signal?: AbortSignal) => {
    const left = [...due]
    const work = async () => {
      for (let next = left.shift(); next && !signal?.aborted; next = left.shift())
        await synchronizeSafely(next)
    }
    await Promise.all(Array.from({ length: atOnce }, work))
  }

  const round: Round = {
    name: 'synchronization',
    everySeconds: 2,
    due: async () => (await rows.due(clock.now(), 1)).length > 0,
    async run(signal) {
      while (!signal.aborted) {
        const due = await rows.due(clock.now(), perLook)
        await synchronizeAll(due, signal)
        if (due.length < perLook) return
      }
    },
  }

  /** An account that goes leaves nothing to be billed: those who billed it are told so. */
  const leaving: Attached = {
    async removeWith(set, { id }) {
      const account = await books.account(id)
      if (!account) return
      const { lists } = await books.terms(account)
      await queue(
        set,
        account,
        lists.map(({ bookkeeper }) => bookkeeper),
      )
    },
  }

  return {
    round,
    leaving,

    /** Tells every bookkeeper of an account now. One that does not listen is told again later. */
    async now(account: AccountRecord) {
      const { lists } = await books.terms(account)
      const named = lists.map(({ bookkeeper }) => bookkeeper).filter(hasToBeTold)
      for (const bookkeeper of named) await rows.hurry(account.id, bookkeeperKey(bookkeeper), clock.now())
      await synchronizeAll(await rows.of(account.id))
    },
  }
}
