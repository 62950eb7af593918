import { setTimeout as sleep } from 'node:timers/promises'
import type { ScheduledJob } from '../../../../jobs/scheduler.ts'
import { badIdentifier, datastoreConflict, failure } from '../../../../lib/failure.ts'
import { daySeconds, gregorianNow } from '../../../../lib/gregorian.ts'
import { monthOf } from '../../../../lib/time-key.ts'
import { type Author, ChangeSet, systemScope } from '../../../../storage/change-set.ts'
import type { Statement } from '../../../../storage/db.ts'
import { isInUse, MonthMoved } from '../../../../storage/monthly.ts'
import { retrying } from '../../../../storage/store.ts'
import type { AreaDeps } from '../../../area.ts'
import type { ArchiveReading } from '../archive/reading.ts'
import type { ArchiveRegister } from '../archive/store.ts'
import type { Intake } from '../intake/operations.ts'
import { outdated, unprepared } from '../places.rules.ts'
import { documentOf } from '../rules.ts'
import { callRecordSettings } from '../settings.ts'
import { createCdrMonthStore } from './store.ts'

interface Deps extends Pick<AreaDeps, 'store' | 'settings' | 'log'> {
  intake: Intake
  register: ArchiveRegister
  archive: Pick<ArchiveReading, 'month'>
  /** Whether CROSSPOINT_CALL_ARCHIVE is set. */
  hasArchive: boolean
}

const minuteSeconds = 60
// No call lasts longer.
const interactionSeconds = 3 * daySeconds

const lockAttempts = 20
const lockPauseMs = 1000

/** Retries work that needs exclusive access to a month while it is being read. */
export const waitingForReaders = async <T>(work: () => Promise<T>): Promise<T> => {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work()
    } catch (error) {
      if (!isInUse(error)) throw error
      if (attempt === lockAttempts) throw failure(datastoreConflict, { message: 'the month is being read' })
      await sleep(lockPauseMs)
    }
  }
}

const retentionAuthor: Author = { requestId: 'cdr-retention' }
const preparationAuthor: Author = { requestId: 'cdr-months' }

export const createCdrMonths = ({ store, settings, intake, register, archive, hasArchive, log }: Deps) => {
  const cdrs = createCdrMonthStore(store)

  const count = async (month: number) => (await cdrs.count(month)) + (await register.count(month))

  const months = async () =>
    [...new Set([...(await store.cdrs.months()), ...(await store.cdrs.archivedMonths()).keys()])].sort(
      (a, b) => a - b,
    )

  const dropOnce = async (author: Author, month: number) => {
    const records = await count(month)
    const set = new ChangeSet(author)
    const live = await register.liveOf(month)
    store.cdrs.drop(set, month)
    register.requireLive(set, month, live.length)
    for (const file of live) register.retire(set, file)
    store.cdrs.forgetArchived(set, month)
    const before = JSON.stringify({ month, records })
    set.record({ accountId: systemScope, kind: 'cdrs', id: String(month), action: 'deleted', before })
    await store.commit(set)
    return records
  }

  const requireMonth = async (month: number) => {
    await store.fence()
    if (!(await months()).includes(month)) throw failure(badIdentifier, { cause: String(month) })
  }

  /** Drops a month; its statistics stay. Returns the number of deleted records. */
  const drop = async (author: Author, month: number): Promise<number> => {
    await requireMonth(month)
    return waitingForReaders(() => retrying(() => dropOnce(author, month)))
  }

  async function* everyLeg(month: number) {
    // Before the files: see `sight` in ../store.ts.
    const archived = await store.cdrs.archivedMonths()
    yield* archive.month(month)
    yield* cdrs.legs(month, archived)
  }

  /** `id`: `YYYYMM-<call id>`. */
  async function* documents(month: number) {
    await requireMonth(month)
    try {
      for await (const rows of everyLeg(month))
        yield rows.map((row) => ({ accountId: row.account_id, id: row.id, document: documentOf(row) }))
    } catch (error) {
      if (!(error instanceof MonthMoved)) throw error
      throw failure(datastoreConflict, { message: 'the month was archived or dropped during the read' })
    }
  }

  const currentMonth = () => Number(monthOf(store.clock.now()))

  const monthsToPrepare = async () => unprepared(await store.cdrs.months(), currentMonth())

  /** Creates the tables of the coming months in advance: in a distributed store this needs all servers. */
  const prepare = async (signal: AbortSignal, guard: Statement) => {
    for (const month of await monthsToPrepare()) {
      if (signal.aborted) return
      const set = new ChangeSet(preparationAuthor).add(guard)
      await store.cdrs.make(set, month)
      await store.writeAlone(set.statements, set.stale)
    }
  }

  const retain = async (signal: AbortSignal) => {
    await intake.forgetInteractions(gregorianNow(store.clock) - interactionSeconds, signal)
    const { retention_months: kept, archive_after_months: archives } = await settings.of(callRecordSettings)
    if (archives !== undefined && !hasArchive)
      log.write('warn', 'archive_after_months has no effect: CROSSPOINT_CALL_ARCHIVE is not set')
    if (kept === undefined) return
    for (const month of outdated(await months(), currentMonth(), kept)) {
      if (signal.aborted) return
      const records = await drop(retentionAuthor, month)
      log.write('info', 'a month of call records was dropped', { month, records })
    }
  }

  return {
    drop,
    count,
    months,
    documents,

    /** All records of a month as NDJSON, in batches. */
    async *lines(month: number): AsyncGenerator<{ records: number; text: string }> {
      for await (const legs of documents(month)) {
        const text = legs.map(({ document }) => `${JSON.stringify(document)}\n`).join('')
        yield { records: legs.length, text }
      }
    },

    retention: { name: 'cdr-retention', everySeconds: daySeconds, run: retain } satisfies ScheduledJob,

    preparation: {
      name: 'cdr-months',
      everySeconds: minuteSeconds,
      due: async () => (await monthsToPrepare()).length > 0,
      run: prepare,
    } satisfies ScheduledJob,
  }
}

export type CdrMonths = ReturnType<typeof createCdrMonths>
