import { accountKind } from '../../../../auth/identity.ts'
import { hasProblems, isOutage, type Problems } from '../../../../lib/failure.ts'
import { gregorianNow } from '../../../../lib/gregorian.ts'
import { isId } from '../../../../lib/ids.ts'
import { type Handover, isObject } from '../../../../lib/json.ts'
import { zip } from '../../../../lib/list.ts'
import type { Metrics } from '../../../../lib/metrics.ts'
import { type Author, ChangeSet } from '../../../../storage/change-set.ts'
import { readingAgain } from '../../../../storage/monthly.ts'
import { retrying } from '../../../../storage/store.ts'
import type { AreaDeps } from '../../../area.ts'
import type { ArchiveReading } from '../archive/reading.ts'
import type { CallBilling } from '../billing/operations.ts'
import { lacksRate, type NewCall, newCallOf } from '../billing/rules.ts'
import type { CdrRow } from '../columns.ts'
import { Cdr, type IntakeReport } from '../schema.ts'
import { callRecordSettings } from '../settings.ts'
import { repaired } from './repair.ts'
import {
  billingFlaw,
  canJoin,
  distinct,
  earlierOf,
  type Interaction,
  interactionKeyOf,
  interactionOf,
  isIgnored,
  isSameInteraction,
  type Leg,
  Rejection,
  rejectionReason,
  rowOf,
  startOf,
  withExactPrices,
  withFittingTimes,
  withoutSecrets,
} from './rules.ts'
import {
  createIntakeStore,
  createUnions,
  type IntakeStore,
  type LegName,
  legKeyOf,
  recordAdded,
  rowKeyOf,
  unionOf,
} from './store.ts'

export const countVerdicts = (metrics: Metrics) => {
  const records = metrics.counter({
    name: 'crosspoint_call_records_total',
    help: 'Received call records by result.',
    labels: ['source', 'outcome'],
  })
  return (source: IntakeSource) => (verdict: LegVerdict) =>
    records.labels(source, typeof verdict === 'string' ? verdict : 'rejected').inc()
}

export const countRepairs = (metrics: Metrics) => {
  const records = metrics.counter({
    name: 'crosspoint_call_records_repaired_total',
    help: 'Call records with a repaired text, number or time.',
    labels: ['source'],
  })
  return (source: IntakeSource) => records.labels(source).inc()
}

interface Deps extends Pick<AreaDeps, 'store' | 'settings'> {
  /** Validates a record. Texts are converted where the schema allows it. */
  validate(schema: typeof Cdr, data: unknown, handover: Handover): Promise<{ value: Cdr; problems: Problems }>
  billing: CallBilling
  archive?: Pick<ArchiveReading, 'find'>
  /** Called with the result of each record of `take`. */
  count(verdict: LegVerdict): void
  /** Called for each repaired record. */
  countRepair(source: IntakeSource): void
}

/** `elsewhere`: history that another system has billed. */
type Paid = 'here' | 'elsewhere'

interface TakeOptions {
  /** Called after every batch. */
  onProgress?(report: Readonly<IntakeReport>): void
  paid?: Paid
}

export type LegVerdict = 'accepted' | 'duplicate' | 'ignored' | { rejected: string }

type IntakeSource = 'api' | 'freeswitch'

interface SentRecord {
  record: unknown
  handover?: Exclude<Handover, 'lent'>
  /** Whether the JSON text was repaired. */
  isRepaired?: boolean
}

/** A record, or why it could not be read. `bytes` is set for streams, whose size is not limited. */
export type Entry = { line: number; bytes?: number } & (SentRecord | { flaw: string })

const reportedRejections = 1000
// One transaction updates each index page once for all its legs. Larger ones would delay other writes too long.
const legsPerBatch = 2000
// Limits memory: a record may be a hundred times the usual size.
const bytesPerBatch = 16 << 20
// The next batch is prepared while one is written.
const writesAtOnce = 2

/** The row and the charges of a leg. Its record, several times as large, is released. */
interface ReadyLeg {
  row: CdrRow
  call: NewCall | undefined
}

type AnyLeg = Leg | ReadyLeg

type InteractionFor = (leg: Leg) => Interaction

const isReady = (leg: AnyLeg): leg is ReadyLeg => 'row' in leg

const accountIdOf = (leg: AnyLeg) => (isReady(leg) ? leg.row.account_id : leg.accountId)

const readyLeg = (leg: Leg, interactionFor: InteractionFor, at: number): ReadyLeg | { rejected: string } => {
  try {
    const row = rowOf(leg, interactionFor(leg), at)
    return { row, call: newCallOf(leg, row) }
  } catch (error) {
    if (error instanceof Rejection) return { rejected: error.message }
    throw error
  }
}

/** Converts a leg at once, unless its interaction or rate has to be looked up. */
const readyAtOnce = (leg: Leg, at: number) =>
  leg.joins || lacksRate(leg.record) ? leg : readyLeg(leg, ({ record }) => interactionOf(record), at)

const isVerdict = (judged: AnyLeg | LegVerdict): judged is LegVerdict =>
  typeof judged === 'string' || 'rejected' in judged

/** The report of `take`, and a function that adds the result of a line. */
const createReport = (count: (verdict: LegVerdict) => void) => {
  const rejected: IntakeReport['rejected'] = []
  const report = { accepted: 0, duplicates: 0, ignored: 0, rejected, rejected_total: 0 }
  const add = (line: number, verdict: LegVerdict) => {
    count(verdict)
    if (verdict === 'accepted') report.accepted += 1
    else if (verdict === 'duplicate') report.duplicates += 1
    else if (verdict === 'ignored') report.ignored += 1
    else {
      report.rejected_total += 1
      if (rejected.length < reportedRejections) rejected.push({ line, reason: verdict.rejected })
    }
  }
  return { report, add }
}

/** Validation of records without nulls, by the settings of now. */
const createValidation = ({ store, settings, validate, countRepair }: Deps) => {
  const isAccount = async (id: string) =>
    isId(id) && (await store.records.find(id, accountKind, id)) !== undefined

  return async (source: IntakeSource, paid: Paid) => {
    const ignored = await settings.of(callRecordSettings)
    const accounts = new Map<string, boolean>()

    return async ({
      record: given,
      handover = 'given',
      isRepaired,
    }: SentRecord): Promise<Leg | LegVerdict> => {
      if (!isObject(given)) return { rejected: 'a record must be an object' }
      const sent = withExactPrices(withoutSecrets(given))
      const first = await validate(Cdr, sent, handover)
      const isSound = !hasProblems(first.problems)
      const { value, problems } = isSound
        ? first
        : await repaired(sent, (record) => validate(Cdr, record, 'lent'))
      if (hasProblems(problems)) return { rejected: rejectionReason(problems) }
      const flaw = paid === 'here' ? billingFlaw(value) : undefined
      if (flaw !== undefined) return { rejected: flaw }
      const record = withFittingTimes(value)
      if (isRepaired || !isSound || record !== value) countRepair(source)
      const accountId = record.custom_channel_vars?.account_id
      if (accountId === undefined) return { rejected: 'custom_channel_vars.account_id: is missing' }
      if (!accounts.has(accountId)) accounts.set(accountId, await isAccount(accountId))
      if (!accounts.get(accountId))
        return { rejected: 'custom_channel_vars.account_id: there is no such account' }
      return isIgnored(record, ignored) ? 'ignored' : { accountId, record }
    }
  }
}

const namesOf = ({ accountId, record, joins }: Leg): LegName[] =>
  joins ? [joins.callId, record.call_id, ...joins.transferred].map((callId) => ({ accountId, callId })) : []

/**
 * Assigns an interaction to legs that name others instead of one. The leg that arrives first decides. A new decision
 * is part of the set, which conflicts with a concurrent one. A leg that names legs of several interactions joins
 * them.
 */
const joining = async (
  legs: IntakeStore,
  batch: readonly AnyLeg[],
  set: ChangeSet,
  now: number,
): Promise<InteractionFor> => {
  const names = batch.flatMap((leg) => (isReady(leg) ? [] : namesOf(leg)))
  const known = names.length > 0 ? await legs.interactionsOf(names) : new Map<string, Interaction>()
  const unite = (accountId: string, from: Interaction, into: Interaction) => {
    for (const [key, interaction] of known) if (isSameInteraction(interaction, from)) known.set(key, into)
    set.statements.push(legs.renaming(accountId, from, into))
    set.job(unionOf(accountId, { from, into }, now))
  }
  return (leg) => {
    if (!leg.joins) return interactionOf(leg.record)
    const own = namesOf(leg)
    const named = distinct(own.flatMap((name) => known.get(legKeyOf(name)) ?? []))
    const [first, ...others] = named
    const interaction = first
      ? others.reduce(earlierOf, first)
      : { time: startOf(leg.record), key: interactionKeyOf(leg.joins.callId) }
    for (const other of named) if (canJoin(other, interaction)) unite(leg.accountId, other, interaction)
    for (const name of own) {
      const key = legKeyOf(name)
      if (known.has(key)) continue
      known.set(key, interaction)
      legs.insertInteraction(set, name, interaction)
    }
    return interaction
  }
}

interface Batch {
  author: Author
  legs: readonly AnyLeg[]
  looks: boolean
  paid: Paid
}

const createWriter = ({ store, billing }: Deps, legs: IntakeStore) => {
  const describe = (set: ChangeSet, added: readonly CdrRow[]) => {
    for (const [accountId, rows] of Map.groupBy(added, ({ account_id }) => account_id)) {
      const id = recordAdded(store, set, accountId, rows)
      set.happened({ accountId, type: 'cdr.created', kind: 'cdr', id, ids: rows.map((row) => row.id) })
    }
  }

  const attempt = async ({ author, legs: batch, looks, paid }: Batch): Promise<LegVerdict[]> => {
    const set = new ChangeSet(author)
    const interactionFor = await joining(legs, batch, set, store.clock.now())
    const at = gregorianNow(store.clock)
    const unique = new Map<string, ReadyLeg>()
    /** The key of a leg, or its verdict. */
    const results = batch.map((leg): { key: string } | LegVerdict => {
      const ready = isReady(leg) ? leg : readyLeg(leg, interactionFor, at)
      if ('rejected' in ready) return ready
      const key = rowKeyOf(ready.row)
      if (unique.has(key)) return 'duplicate'
      unique.set(key, ready)
      return { key }
    })
    const rows = Array.from(unique.values(), ({ row }) => row)
    const { added, uncounted, stored } = await legs.add(set, rows, { looks })
    if (added.length > 0) {
      const calls = uncounted.flatMap((row) => unique.get(rowKeyOf(row))?.call ?? [])
      if (paid === 'here') await billing.book(set, calls)
      describe(set, added)
      await store.commit(set)
    }
    return results.map((result) => {
      if (typeof result === 'string' || !('key' in result)) return result
      return stored.has(result.key) ? 'duplicate' : 'accepted'
    })
  }

  const price = async (batch: readonly AnyLeg[]): Promise<readonly AnyLeg[]> => {
    const wanting = batch.filter((leg): leg is Leg => !isReady(leg))
    if (wanting.length === 0) return batch
    const priced = (await billing.price(wanting)).values()
    return batch.map((leg) => (isReady(leg) ? leg : (priced.next().value as Leg)))
  }

  /**
   * Stores legs in one transaction. They are expected to be new: after a conflict the store is searched for them
   * first.
   */
  return async (
    author: Author,
    batch: readonly AnyLeg[],
    { looksFirst = false, paid = 'here' }: { looksFirst?: boolean; paid?: Paid } = {},
  ): Promise<LegVerdict[]> => {
    const priced = await price(batch)
    return retrying(async (number) => {
      if (number > 1) await store.fence()
      const looks = looksFirst || number > 1
      return readingAgain(() => attempt({ author, legs: priced, looks, paid }))
    })
  }
}

interface Line {
  line: number
  leg: AnyLeg
}

export type Intake = ReturnType<typeof createIntake>

/** Stores call detail records. A record is accepted when it is on disk. */
export const createIntake = (deps: Deps) => {
  const legs = createIntakeStore(deps.store, deps.archive)
  const validation = createValidation(deps)
  const write = createWriter(deps, legs)

  /** Batches of the lines that can be stored. The results of the others are added to the report. */
  async function* batchesOf(
    chunks: AsyncIterable<readonly Entry[]>,
    paid: Paid,
    add: (line: number, verdict: LegVerdict) => void,
  ): AsyncGenerator<Line[]> {
    let batch: Line[] = []
    let bytes = 0
    for await (const entries of chunks) {
      const [validated, at] = [await validation('api', paid), gregorianNow(deps.store.clock)]
      for (const entry of entries) {
        const judged = 'flaw' in entry ? { rejected: entry.flaw } : await validated(entry)
        const leg = isVerdict(judged) ? judged : readyAtOnce(judged, at)
        if (isVerdict(leg)) {
          add(entry.line, leg)
          continue
        }
        batch.push({ line: entry.line, leg })
        bytes += entry.bytes ?? 0
        if (batch.length < legsPerBatch && bytes < bytesPerBatch) continue
        yield batch
        batch = []
        bytes = 0
      }
    }
    if (batch.length > 0) yield batch
  }

  return {
    judge: async (sent: SentRecord, source: IntakeSource) => (await validation(source, 'here'))(sent),
    write,
    forgetInteractions: legs.forgetInteractions,
    unions: createUnions(legs),

    /** Stores records in batches. */
    async take(
      author: Author,
      chunks: AsyncIterable<readonly Entry[]>,
      { onProgress, paid = 'here' }: TakeOptions = {},
    ): Promise<IntakeReport> {
      const { report, add } = createReport(deps.count)
      const writing: Promise<void>[] = []
      // A client that repeats one leg usually repeats the next ones.
      let isRepeat = false

      const writeTogether = async (batch: readonly Line[]) => {
        const given = batch.map(({ leg }) => leg)
        const verdicts = await write(author, given, { looksFirst: isRepeat, paid })
        isRepeat = verdicts.includes('duplicate')
        for (const [{ line }, verdict] of zip(batch, verdicts)) add(line, verdict)
        onProgress?.(report)
      }

      /**
       * One of several database servers may be down: legs of accounts on other servers are still stored. They are
       * duplicates when all are sent again.
       */
      const store = async (batch: readonly Line[]) => {
        try {
          await writeTogether(batch)
        } catch (error) {
          const apart = [...Map.groupBy(batch, ({ leg }) => accountIdOf(leg)).values()]
          if (!isOutage(error) || apart.length === 1) throw error
          const ended = await Promise.allSettled(apart.map(writeTogether))
          for (const one of ended) if (one.status === 'rejected') throw one.reason
        }
      }

      try {
        for await (const batch of batchesOf(chunks, paid, add)) {
          if (writing.length === writesAtOnce) await writing.shift()
          const written = store(batch)
          // Handled when the batch is awaited.
          written.catch(() => undefined)
          writing.push(written)
        }
        await Promise.all(writing)
      } finally {
        // Waits for the other write, too, when one fails.
        await Promise.allSettled(writing)
      }
      report.rejected.sort((a, b) => a.line - b.line)
      return report
    },
  }
}
