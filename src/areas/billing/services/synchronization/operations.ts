import type { AccountRecord } from '../../../../auth/identity.ts'
import type { Job as Carried, Conclusion, JobKind } from '../../../../jobs/queue.ts'
import { randomHex } from '../../../../lib/ids.ts'
import type { SyncOutcome } from '../../../../payment/gateway.ts'
import type { Settings } from '../../../../settings/settings.ts'
import type { Attached } from '../../../../storage/attachment.ts'
import { type Author, ChangeSet } from '../../../../storage/change-set.ts'
import { errandStatement, type JobDraft } from '../../../../storage/job-draft.ts'
import type { Store } from '../../../../storage/store.ts'
import type { DepsOf } from '../../../area.ts'
import { createSyncStore, type SyncedInvoice, type SyncNote } from '../audit/store.ts'
import type { Bookkeepers } from '../bookkeepers.ts'
import type { PricingData } from '../books.ts'
import type { Bookkeeper } from '../pricing/plan.ts'
import {
  bookkeeperKey,
  bookkeeperOfKey,
  flatItems,
  maxRetryWaitMs,
  needsSync,
  syncPauseAfter,
} from '../rules.ts'
import { servicesSettings } from '../settings.ts'

/** Adds to a change set that the bookkeepers of changed invoices get them. */
export type SyncBookkeepers = (
  set: ChangeSet,
  account: Pick<AccountRecord, 'id'>,
  bookkeepers: readonly Bookkeeper[],
) => Promise<void>

interface SyncPayload {
  bookkeeper: string
}

const kindName = 'synchronization'

/** The first change sets the time; later ones are sent with it. */
const errandOf = (accountId: string, bookkeeper: Bookkeeper, dueAt: number): JobDraft<SyncPayload> => {
  const key = bookkeeperKey(bookkeeper)
  const payload = { bookkeeper: key }
  return { kind: kindName, id: `${accountId}/${key}`, accountId, dueAt, payload, again: 'keep' }
}

/** Separate from the rest, because invoices change before bookkeepers are known. */
export const createTelling = ({ store, settings }: { store: Store; settings: Settings }): SyncBookkeepers => {
  return async (set, { id }, bookkeepers) => {
    const { sync_buffer_period: seconds } = await settings.of(servicesSettings)
    const dueAt = store.clock.now() + seconds * 1000
    for (const bookkeeper of bookkeepers.filter(needsSync))
      set
        .errand(errandOf(id, bookkeeper, dueAt))
        .record({ accountId: id, kind: 'service_sync', id, action: 'edited' })
  }
}

interface Deps extends DepsOf<'store' | 'queue'> {
  tell: SyncBookkeepers
  books: PricingData
  bookkeepers: Bookkeepers
}

interface SyncResult {
  syncId: string
  outcome: SyncOutcome
}

const syncAuthor: Author = { requestId: 'synchronization' }
// Beyond the time limit of a call, before another process takes over.
const graceMs = 60_000

export type Synchronization = ReturnType<typeof createSynchronization>

/** Sends the invoices of accounts to bookkeepers, until they accept them. */
export const createSynchronization = ({ store, tell: tellLater, books, bookkeepers, queue }: Deps) => {
  const rows = createSyncStore(store)
  const { clock } = store

  /** The current invoice; empty if there is none. */
  const itemsOf = async ({ accountId, bookkeeper }: SyncedInvoice) => {
    const account = await books.account(accountId)
    const invoices = account ? await books.invoices(account) : []
    return flatItems(invoices.filter((invoice) => bookkeeperKey(invoice.bookkeeper) === bookkeeper))
  }

  const tell = async (waiting: SyncedInvoice, syncId: string): Promise<SyncOutcome> => {
    const bookkeeper = bookkeeperOfKey(waiting.bookkeeper)
    const gateway = bookkeepers.gateway(bookkeeper)
    if (!gateway) {
      const message = `there is no bookkeeper of type ${bookkeeper.type}`
      return { status: 'failed', reason: 'bookkeeper_fault', message }
    }
    const { accountId } = waiting
    const account = await books.account(accountId)
    if (account && !(await bookkeepers.mayCharge(account, bookkeeper))) {
      const message = 'the bookkeeper is not lent to whoever sells to the account'
      return { status: 'failed', reason: 'bookkeeper_fault', message }
    }
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

  const taken = async (
    told: SyncedInvoice,
    { syncId, outcome }: SyncResult,
  ): Promise<Conclusion<SyncPayload>> => {
    const { accountId } = told
    const set = new ChangeSet(syncAuthor)
    set.statements.push(rows.noteEntries(told, syncId, noteOf(outcome, syncId)))
    set.record({ accountId, kind: 'service_sync', id: syncId, action: 'created' })
    await bookkeepers.note(set, accountId, 'bookkeeper_rejection', outcome.status === 'synced')
    return { state: 'done', outcome: outcome.status, sets: [set] }
  }

  const notTaken = (
    told: SyncedInvoice,
    { syncId, outcome }: SyncResult,
    { since }: Carried<SyncPayload>,
  ) => {
    const isTooLate = clock.now() - since > maxRetryWaitMs
    const statements = isTooLate ? [rows.noteEntries(told, syncId, noteOf(outcome, syncId))] : []
    const message = outcome.status === 'failed' ? outcome.message : ''
    return { state: 'waiting', outcome: message, statements } as const
  }

  const toldOf = ({ accountId, payload }: Carried<SyncPayload>): SyncedInvoice => ({ accountId, ...payload })

  const kind: JobKind<SyncPayload, SyncResult> = {
    kind: kindName,
    everySeconds: 2,
    pauseMs: (attempts) => syncPauseAfter(attempts - 1),

    async ask(errand) {
      const told = toldOf(errand)
      const syncId = randomHex(16)
      await rows.claimEntries(told, syncId)
      return { syncId, outcome: await tell(told, syncId) }
    },

    async conclude(errand, answer) {
      const told = toldOf(errand)
      return answer.outcome.status === 'failed' ? notTaken(told, answer, errand) : taken(told, answer)
    },
  }

  /** The bookkeepers of a deleted account get an empty invoice. */
  const leaving: Attached = {
    async removeWith(set, { id }) {
      const account = await books.account(id)
      if (!account) return
      const { lists } = await books.terms(account)
      await tellLater(
        set,
        account,
        lists.map(({ bookkeeper }) => bookkeeper),
      )
    },
  }

  return {
    job: kind,
    leaving,

    /** Whether a bookkeeper does not have the latest invoice yet. */
    isDirty: async (accountId: string) => (await queue.waiting(kindName, accountId)).length > 0,

    /** Sends the waiting invoices of some accounts now. Resolves after one attempt each. */
    async settle(accountIds: readonly string[]): Promise<void> {
      const waiting = await Promise.all(accountIds.map((id) => queue.waiting(kindName, id)))
      await Promise.all(waiting.flat().map(({ id }) => queue.now(kindName, id)))
    },

    /** Sends the invoices of an account to all its bookkeepers now. Failed ones are sent again later. */
    async now(account: AccountRecord) {
      const { lists } = await books.terms(account)
      const named = lists.map(({ bookkeeper }) => bookkeeper).filter(needsSync)
      const dueAt = clock.now() + graceMs
      await store.writeUnrecorded(
        named.map((bookkeeper) =>
          errandStatement({ ...errandOf(account.id, bookkeeper, dueAt), again: 'move' }, clock.now()),
        ),
      )
      const waiting = await queue.waiting(kindName, account.id)
      await Promise.all(waiting.map(({ id }) => queue.now(kindName, id)))
    },
  }
}
