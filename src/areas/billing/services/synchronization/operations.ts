import type { AccountRecord } from '../../../../auth/identity.ts'
import type { Job as Carried, Conclusion, JobKind } from '../../../../jobs/queue.ts'
import { randomHex } from '../../../../lib/ids.ts'
import type { SyncOutcome } from '../../../../payment/gateway.ts'
import { type Author, ChangeSet } from '../../../../storage/change-set.ts'
import { type JobDraft, jobStatement } from '../../../../storage/job-draft.ts'
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
const jobOf = (accountId: string, bookkeeper: Bookkeeper, dueAt: number): JobDraft<SyncPayload> => {
  const key = bookkeeperKey(bookkeeper)
  const payload = { bookkeeper: key }
  return { kind: kindName, id: `${accountId}/${key}`, accountId, dueAt, payload, again: 'keep' }
}

/** Separate from the rest, because invoices change before bookkeepers are known. */
export const createTelling =
  ({ store, settings }: DepsOf<'store' | 'settings'>): SyncBookkeepers =>
  async (set, { id }, bookkeepers) => {
    const { sync_buffer_period: seconds } = await settings.of(servicesSettings)
    const dueAt = store.clock.now() + seconds * 1000
    for (const bookkeeper of bookkeepers.filter(needsSync))
      set
        .job(jobOf(id, bookkeeper, dueAt))
        .record({ accountId: id, kind: 'service_sync', id, action: 'edited' })
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

const faultOf = (message: string): SyncOutcome => ({ status: 'failed', reason: 'bookkeeper_fault', message })

const noteOf = ({ outcome, syncId }: SyncResult): SyncNote => {
  const results = [{ ...outcome, sync_id: syncId }]
  if (outcome.status === 'failed')
    return { status: 'failed', outcome: { reason: 'timeout', message: outcome.message, results } }
  const reason = outcome.status === 'delinquent' ? { reason: 'bookkeeper_rejection' } : {}
  return { status: 'completed', outcome: { ...reason, results } }
}

const invoiceIn = ({ accountId, payload }: Carried<SyncPayload>): SyncedInvoice => ({ accountId, ...payload })

/** Sends the current invoice of an account to a bookkeeper; an empty one if there is none. */
const sending =
  ({ books, bookkeepers }: Deps) =>
  async ({ accountId, bookkeeper: key }: SyncedInvoice, syncId: string): Promise<SyncOutcome> => {
    const bookkeeper = bookkeeperOfKey(key)
    const gateway = bookkeepers.gateway(bookkeeper)
    if (!gateway) return faultOf(`there is no bookkeeper of type ${bookkeeper.type}`)
    const account = await books.account(accountId)
    if (account && !(await bookkeepers.mayCharge(account, bookkeeper)))
      return faultOf('the seller of the account may not use this billing provider')
    const invoices = account ? await books.invoices(account) : []
    const items = flatItems(invoices.filter((invoice) => bookkeeperKey(invoice.bookkeeper) === key))
    return gateway.syncInvoice({ accountId, vendorId: bookkeeper.vendor_id, syncId, items })
  }

const createJob = (deps: Deps): JobKind<SyncPayload, SyncResult> => {
  const { store, bookkeepers } = deps
  const rows = createSyncStore(store)
  const send = sending(deps)

  const taken = async (invoice: SyncedInvoice, result: SyncResult): Promise<Conclusion<SyncPayload>> => {
    const { accountId } = invoice
    const { syncId, outcome } = result
    const set = new ChangeSet(syncAuthor)
    set
      .add(rows.noteEntries(invoice, syncId, noteOf(result)))
      .record({ accountId, kind: 'service_sync', id: syncId, action: 'created' })
    await bookkeepers.note(set, accountId, 'bookkeeper_rejection', outcome.status === 'synced')
    return { state: 'done', outcome: outcome.status, sets: [set] }
  }

  return {
    kind: kindName,
    everySeconds: 2,
    pauseMs: (attempts) => syncPauseAfter(attempts - 1),

    async ask(job) {
      const invoice = invoiceIn(job)
      const syncId = randomHex(16)
      await rows.claimEntries(invoice, syncId)
      return { syncId, outcome: await send(invoice, syncId) }
    },

    async conclude(job, result) {
      const invoice = invoiceIn(job)
      if (result.outcome.status !== 'failed') return taken(invoice, result)
      const isTooLate = store.clock.now() - job.since > maxRetryWaitMs
      const statements = isTooLate ? [rows.noteEntries(invoice, result.syncId, noteOf(result))] : []
      return { state: 'waiting', outcome: result.outcome.message, statements }
    },
  }
}

export type Synchronization = ReturnType<typeof createSynchronization>

/** Sends the invoices of accounts to bookkeepers, until they accept them. */
export const createSynchronization = (deps: Deps) => {
  const { store, tell: tellLater, books, queue } = deps

  const bookkeepersOf = async (account: AccountRecord) =>
    (await books.terms(account)).lists.map(({ bookkeeper }) => bookkeeper)

  /** Resolves after one attempt each. */
  const sendWaiting = async (accountId: string) => {
    const waiting = await queue.waiting(kindName, accountId)
    await Promise.all(waiting.map(({ id }) => queue.now(kindName, id)))
  }

  return {
    job: createJob(deps),

    /** The bookkeepers of a deleted account get an empty invoice. */
    async removeWith(set: ChangeSet, { id }: Pick<AccountRecord, 'id'>) {
      const account = await books.account(id)
      if (account) await tellLater(set, account, await bookkeepersOf(account))
    },

    /** Whether a bookkeeper does not have the latest invoice yet. */
    isDirty: async (accountId: string) => (await queue.waiting(kindName, accountId)).length > 0,

    /** Sends the waiting invoices of some accounts now. */
    async settle(accountIds: readonly string[]): Promise<void> {
      await Promise.all(accountIds.map(sendWaiting))
    },

    /** Sends the invoices of an account to all its bookkeepers now. Failed ones are sent again later. */
    async now(account: AccountRecord) {
      const now = store.clock.now()
      const named = (await bookkeepersOf(account)).filter(needsSync)
      const jobs = named.map((bookkeeper) => jobOf(account.id, bookkeeper, now + graceMs))
      await store.writeUnrecorded(jobs.map((job) => jobStatement({ ...job, again: 'move' }, now)))
      await sendWaiting(account.id)
    },
  }
}
