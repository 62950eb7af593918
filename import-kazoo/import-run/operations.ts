import { setTimeout as pause } from 'node:timers/promises'
import type { ImportStates } from '../../src/areas/system/imports/area.ts'
import { beingUndone, type ImportScope } from '../../src/areas/system/imports/rules.ts'
import type { PasswordHasher } from '../../src/auth/deriving/deriver.ts'
import { masterClaim } from '../../src/auth/identity.ts'
import type { Keyring } from '../../src/auth/keyring.ts'
import type { Leases } from '../../src/jobs/leases.ts'
import type { Check, Fault } from '../../src/lib/check.ts'
import { gregorianNow } from '../../src/lib/gregorian.ts'
import { type Author, ChangeSet } from '../../src/storage/change-set.ts'
import { Refusal } from '../../src/storage/saved-store.ts'
import { keepState, putBackState, TooMuch } from '../../src/storage/table-snapshot.ts'
import type { CheckDeps, Respond } from '../comparing/comparison.ts'
import { checkImport } from '../comparing/operations.ts'
import { createCallImport } from '../conversions/call-import.ts'
import { createGathering } from '../import-sections/gathering.ts'
import type { Facts, ImportSection } from '../import-sections/section.ts'
import { createReports } from '../report/survey.ts'
import { type Source, SourceTrouble } from '../source/source.ts'
import { forEach } from './at-once.ts'
import { createBatches } from './batches.ts'
import { type ImportRunOptions, requireSameScope, scopeOf } from './import-scope.ts'
import { createMonthReading, type MonthPlace, monthsIn } from './months.ts'
import { type BatchProgress, createReading } from './reading.ts'
import { createRunStore, type RunStore } from './store.ts'

interface ImportDeps extends CheckDeps {
  states: ImportStates
  keyring: Keyring
  leases: Leases
  /** Derives keys of users, of which there are thousands. */
  deriver: Pick<PasswordHasher, 'beside'>
  /** Prevents billing what the other system has billed. */
  billedThere(set: ChangeSet): Promise<void>
  /** System settings, which months depend on. Other sections and months do not depend on each other. */
  settings: ImportSection
}

interface FollowOptions extends ImportRunOptions {
  onRound?(changed: number, seconds: number): void
  onTrouble?(why: string): void
}

interface FinishOptions extends ImportRunOptions {
  /** Further checks of the store itself. */
  checks: readonly Check[]
  respond: Respond
  onDifference(check: string, fault: Fault): void
  acceptsDifferences: boolean
}

interface Pass {
  look(): Promise<Facts>
  manner: ImportRunOptions
  signal?: AbortSignal
  /** Refused documents are tried again. */
  isFirst: boolean
  /** Counts must be exact. */
  isLast: boolean
}

// Accounts whose months are read at once; more take more memory and are hardly faster.
const accountsAtOnce = 2

const author: Author = { requestId: 'import', authMethod: 'import' }
const leaseName = 'kazoo_import'
const followPauseMs = 2000

/** Refuses before anything changes. */
const requireWhole = ({ plan, elsewhere, allowMissing }: Facts) => {
  if (plan.masterId === undefined)
    throw new Refusal('the source contains no master account (an account without a parent)')
  const [first] = elsewhere
  if (first && !allowMissing)
    throw new Refusal(
      `some data is stored elsewhere: ${first.database}/${first.id} names the connections ${first.old}. --allow-missing skips them`,
    )
}

/** The state of the import, which locks the store for other writes. */
const createStateKeeper = ({ store, states }: Pick<ImportDeps, 'store' | 'states'>) => {
  const requireNotFinished = async () => {
    const state = await states.read()
    if (state?.status === 'finished')
      throw new Refusal(
        `the import from ${state.source} is finished: another one would overwrite later changes`,
      )
    return state
  }

  const newSet = async () => {
    const master = await store.records.claimant(masterClaim)
    if (!master) throw new Refusal('the store has no master account: start the server once before the import')
    const set = new ChangeSet(author)
    set.summary = { accountId: master.accountId, kind: 'kazoo_import', id: 'state', action: 'edited' }
    return { set: set.record(set.summary), masterId: master.accountId }
  }

  const change = async (add: (set: ChangeSet, masterId: string) => Promise<void>) => {
    const { set, masterId } = await newSet()
    await add(set, masterId)
    await store.adopt(set)
  }

  return {
    requireNotFinished,
    change,

    /** After a partial undo only the undo can continue. */
    async requireOpen() {
      const state = await requireNotFinished()
      if (state?.status === 'being_undone') throw new Refusal(beingUndone)
      return state
    },

    begin: (source: Source, begun: number, narrowing: ImportScope) =>
      change(async (set, masterId) => {
        if ((await store.cdrs.months()).length > 0)
          throw new Refusal('the store contains call records: an import needs a new store')
        try {
          set.add(...(await keepState(store)))
        } catch (error) {
          if (!(error instanceof TooMuch)) throw error
          throw new Refusal(`an import needs a new store: ${error.message}`)
        }
        const account = await store.records.find(masterId, 'account', masterId)
        if (account && account.tally > 0)
          throw new Refusal('an import needs a store whose master account has no sub-accounts')
        await states.write(set, { status: 'under_way', source: source.facts.title, begun, narrowing })
      }),
  }
}

const createPasses = (deps: ImportDeps, run: RunStore) => {
  const { adoptions, settings, chapters, legAdoption, deriver } = deps

  return async ({ look, manner, signal, isFirst, isLast }: Pass) => {
    const batches = createBatches({ ...deps, run, author })
    let changed = 0
    const onBatch = (progress: BatchProgress) => {
      changed += progress.changed + progress.removed
      manner.onBatch?.(progress)
    }
    const facts = await look()
    requireWhole(facts)
    const reading = { run, batches, triesAgain: isFirst, isLastPass: isLast, onBatch }
    const documents = createReading(reading)
    await documents.readAccounts(facts, facts.masterId)
    const readAll = async (stop: AbortSignal | undefined, some: readonly ImportSection[]) => {
      for (const chapter of some)
        await forEach(stop, chapter.databases(facts), (database) => documents.read(chapter, facts, database))
    }
    const callImport = { legAdoption, author, commit: batches.commit }
    const callImportOf = (accountId: string) => createCallImport(callImport, accountId)
    const read = createMonthReading({ ...reading, callImportOf })
    const readMonth = (ofAccount: MonthPlace[], stop: AbortSignal) => read(facts, ofAccount, stop)
    const readMonths = (stop: AbortSignal) =>
      deriver.beside(() => forEach(stop, monthsIn(facts), readMonth, accountsAtOnce))
    await readAll(signal, [settings])
    // Sections mostly wait for password hashes.
    const works = [(stop: AbortSignal) => readAll(stop, chapters), readMonths]
    await forEach(signal, works, (work, stop) => work(stop), works.length)
    for (const importer of Object.values(adoptions)) await importer.settle?.()
    return { changed, facts }
  }
}

/** Copies, follows and finishes an import. */
export const createImport = (deps: ImportDeps) => {
  const { store, states, leases } = deps
  const chapters = [deps.settings, ...deps.chapters]
  const run = createRunStore(store)
  const { requireNotFinished, requireOpen, change, begin } = createStateKeeper(deps)
  const pass = createPasses(deps, run)

  /** Locks the store for other writes. Returns a function that looks at the source. */
  const open = async (source: Source, manner: ImportRunOptions): Promise<() => Promise<Facts>> => {
    const gathering = createGathering(source)
    const state = await requireOpen()
    const narrowing = state ? requireSameScope(state.narrowing, manner) : scopeOf(manner)
    // Documents must convert the same in each run.
    const begun = state?.begun ?? gregorianNow(store.clock)
    const look = () => gathering(begun, narrowing)
    if (state) return look
    requireWhole(await look())
    await begin(source, begun, narrowing)
    return look
  }

  const alone = async <T>(work: () => Promise<T>): Promise<T> => {
    const lease = await leases.take(leaseName)
    if (!lease) throw new Refusal('another process is importing into this store')
    try {
      return await work()
    } finally {
      await lease.release()
    }
  }

  const countDifferences = async (facts: Facts, { checks, respond, onDifference }: FinishOptions) => {
    let differences = 0
    const report = (name: string, fault: Fault) => {
      differences += 1
      onDifference(name, fault)
    }
    await checkImport({ ...deps, chapters }, { facts, respond, begun: facts.now }, report)
    for (const check of checks) await check.run((fault) => report(check.name, fault))
    return differences
  }

  return {
    ...createReports({ run, clock: store.clock, chapters }),

    /** Returns the number of changed documents. */
    copy: (source: Source, manner: ImportRunOptions = {}) =>
      alone(async () => {
        const look = await open(source, manner)
        return (await pass({ look, manner, isFirst: true, isLast: false })).changed
      }),

    /** Retries while the source cannot be read. */
    follow: (source: Source, signal: AbortSignal, { onRound, onTrouble, ...manner }: FollowOptions = {}) =>
      alone(async () => {
        if (!source.facts.canFollow) throw new Refusal('dumps do not change: use --follow with a database')
        const look = await open(source, manner)
        let isFirst = true
        while (!signal.aborted) {
          const from = performance.now()
          try {
            const { changed } = await pass({ look, manner, signal, isFirst, isLast: false })
            isFirst = false
            onRound?.(changed, (performance.now() - from) / 1000)
          } catch (error) {
            if (!(error instanceof SourceTrouble)) throw error
            onTrouble?.(error.message)
          }
          await pause(followPauseMs, undefined, { signal }).catch(() => undefined)
        }
      }),

    /** Reads the rest, checks it, and unlocks the store. */
    finish: (source: Source, finishing: FinishOptions) =>
      alone(async () => {
        const state = await requireOpen()
        if (!state) throw new Refusal('there is no import to finish')
        const look = await open(source, finishing)
        const { changed, facts } = await pass({ look, manner: finishing, isFirst: true, isLast: true })
        const differences = await countDifferences(facts, finishing)
        if (differences > 0 && !finishing.acceptsDifferences)
          throw new Refusal(
            `the stored data has ${differences} differences: the import is not finished. Use --accept-differences to finish it anyway`,
          )
        await change(async (set) => {
          await deps.billedThere(set)
          await states.write(set, { ...state, status: 'finished', finished: gregorianNow(store.clock) })
        })
        return changed
      }),

    /** An interrupted undo continues when it is started again. */
    undo: () =>
      alone(async () => {
        const state = await requireNotFinished()
        if (!state) throw new Refusal('there is no import to undo')
        await change((set) => states.write(set, { ...state, status: 'being_undone' }))
        for (const month of await store.cdrs.months())
          await change(async (set) => store.cdrs.drop(set, month))
        await store.writeUnrecorded([...(await putBackState(store)), ...run.forgetAll()], ['*'])
      }),
  }
}
