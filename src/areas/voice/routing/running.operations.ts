import type { AccountRecord } from '../../../auth/identity.ts'
import { deleteOldRows } from '../../../jobs/scheduler.ts'
import { hasProblems } from '../../../lib/failure.ts'
import { evictOldest } from '../../../lib/forget-oldest.ts'
import { isObject, present } from '../../../lib/json.ts'
import { dropNulls } from '../../../lib/json-merge.ts'
import { memberOf } from '../../../lib/member.ts'
import { createKeyedQueue } from '../../../lib/one-at-a-time.ts'
import { type Author, ChangeSet, conflict } from '../../../storage/change-set.ts'
import type { Statement } from '../../../storage/db.ts'
import { isStorable } from '../../../storage/records.ts'
import { retrying } from '../../../storage/store.ts'
import type { Accounts } from '../../accounts/accounts/operations.ts'
import type { AreaDeps } from '../../area.ts'
import type { Allotments } from '../../billing/limits/allotments/operations.ts'
import type { LimitsOfAccounts } from '../../billing/limits/operations.ts'
import type { CallBilling } from '../../calls/cdrs/billing/operations.ts'
import { rejectionReason } from '../../calls/cdrs/intake/rules.ts'
import type { Numbers } from '../../numbers/phone-numbers/operations.ts'
import type { CallPrice } from './offnet.rules.ts'
import {
  billingOf,
  creditOf,
  type Funds,
  needsCredit,
  type OffnetCall,
  paidCallOf,
  secondsLeft,
} from './offnet.rules.ts'
import { type RunningCallAnswer, RunningCallReport } from './schema.ts'
import { routingSettings } from './settings.ts'
import { createRunningStore, type RunningCall } from './store.ts'

interface Deps extends Pick<AreaDeps, 'store' | 'settings' | 'validate'> {
  accounts: Pick<Accounts, 'find'>
  numbers: Pick<Numbers, 'planning'>
  limits: Pick<LimitsOfAccounts, 'inForce' | 'overdraft' | 'chargeOverdraft'>
  allotments: Pick<Allotments, 'leftFor'>
  balance(accountId: string): Promise<number>
  billing: Pick<CallBilling, 'price'>
}

// Maximum interval in which edges report running calls.
const nextNamingSeconds = 20
// Maximum age of what is stored of a call. Edges report more often.
const storedMs = 60_000
// A call without reports for this time has ended.
const lostMs = 300_000
// Edges count whole seconds and end calls up to a second late.
const marginSeconds = 2

// Ended calls that are remembered.
const maxEnded = 10_000

type Answered = readonly [report: RunningCallReport, answer: RunningCallAnswer]

const isStorableText = (value: unknown): value is string => typeof value === 'string' && isStorable(value)

const perMinute = 'per_minute'

type SecondsLeft = ReadonlyMap<string, number>

const answerOf = (
  { id, most_s: most = Number.POSITIVE_INFINITY }: RunningCallReport,
  { billing, trunk }: RunningCall,
  left: SecondsLeft,
): RunningCallAnswer => {
  const seconds = left.get(id)
  return {
    id,
    allowed: true,
    account_billing: billing,
    ...present({ trunk }),
    ...(seconds === undefined ? {} : { seconds: Math.max(1, Math.min(most, seconds - marginSeconds)) }),
  }
}

/** Means of payment of accounts for calls, and the remaining seconds. */
const callFunds = ({ store: { clock }, limits, allotments, balance }: Deps) => {
  const moneyOf = async (account: AccountRecord) => ({
    balance: await balance(account.id),
    overdraft: await limits.overdraft(account),
    isPrepaid: (await limits.chargeOverdraft(account)) !== undefined,
  })

  return {
    async available(
      account: AccountRecord,
      { direction, classification }: OffnetCall,
      running: readonly RunningCall[],
    ): Promise<Funds> {
      const allotment = await allotments.leftFor(account, direction, classification ?? '')
      const reserved = running.map((call) => {
        const { elapsed, costOf } = paidCallOf(call, clock.now())
        return { trunk: call.trunk, cost: costOf(elapsed) }
      })
      return { ...(await moneyOf(account)), reserved, ...present({ allotment }) }
    },

    /** Remaining seconds of calls that end when the credit is used up, by call. */
    async secondsLeft(account: AccountRecord, running: readonly RunningCall[]): Promise<SecondsLeft> {
      const paid = running.filter(({ price }) => price !== undefined)
      if (paid.length === 0) return new Map()
      const inForce = await limits.inForce(account)
      const money = await moneyOf(account)
      const left = secondsLeft(
        paid.map((call) => paidCallOf(call, clock.now())),
        creditOf(inForce, money),
      )
      return new Map(
        paid.flatMap(({ id, direction }, index) =>
          needsCredit(direction, inForce, money) ? [[id, left[index] ?? 0] as const] : [],
        ),
      )
    },
  }
}

/** Stored calls, and the event about those whose credit ends. */
const storedCalls = ({ store, billing }: Deps) => {
  const { clock } = store
  const rows = createRunningStore(store)

  const priceOf = async (report: RunningCallReport): Promise<CallPrice | undefined> => {
    const { account_id: accountId, call_id, direction, number, caller_id_number } = report
    const record = {
      call_id,
      call_direction: direction,
      timestamp: 0,
      ...present({ caller_id_number }),
      custom_channel_vars: { account_billing: perMinute, e164_destination: number },
    }
    const [leg] = await billing.price([{ accountId, record }])
    return leg?.record.custom_channel_vars
  }

  const answeredAt = ({ elapsed_s: elapsed }: RunningCallReport) =>
    elapsed === undefined ? undefined : clock.now() - elapsed * 1000

  return {
    rows,

    async add(
      report: RunningCallReport,
      { billing: paid, trunk }: Pick<RunningCall, 'billing' | 'trunk'>,
      running: readonly RunningCall[],
    ): Promise<RunningCall> {
      const row = {
        accountId: report.account_id,
        ordinal: Math.max(0, ...running.map(({ ordinal }) => ordinal)) + 1,
        id: report.id,
        callId: report.call_id,
        direction: report.direction,
        billing: paid,
        trunk,
        price: paid === perMinute ? await priceOf(report) : undefined,
        answeredAt: answeredAt(report),
        seenAt: clock.now(),
        toldAt: undefined,
      }
      await store.writeUnrecorded([rows.insert(row, { rows: 1, orElse: conflict })])
      return row
    },

    /** The call as an edge reports it now, and the write, unless a recent one stored the same. */
    seen(call: RunningCall, report: RunningCallReport): { row: RunningCall; writes: Statement[] } {
      const isFresh = call.answeredAt !== undefined && clock.now() - call.seenAt < storedMs
      const row = { ...call, answeredAt: call.answeredAt ?? answeredAt(report), seenAt: clock.now() }
      return { row, writes: isFresh ? [] : [rows.seen(row)] }
    },

    /** Emits an event once for each call that ends before the next report. */
    async reportEnds(author: Author, running: readonly RunningCall[], left: SecondsLeft) {
      const set = new ChangeSet(author)
      for (const call of running) {
        const seconds = left.get(call.id)
        if (seconds === undefined || seconds > nextNamingSeconds || call.toldAt !== undefined) continue
        const { accountId, callId, direction } = call
        const after = JSON.stringify({ call_id: callId, direction, seconds })
        set.add(rows.told(call, clock.now()))
        set.happened({ accountId, type: 'call.credit_used', kind: 'account', id: accountId, after })
      }
      if (set.happenings.length > 0) await store.commit(set)
    },
  }
}

/** Reports of edges about calls of one account. `ended`: an edge may report a call while its end is on the way. */
const callReports = (
  deps: Deps,
  calls: ReturnType<typeof storedCalls>,
  funds: ReturnType<typeof callFunds>,
  ended: ReadonlyMap<string, true>,
) => {
  const { store, settings, numbers, limits } = deps

  return {
    async begin(
      author: Author,
      account: AccountRecord,
      report: RunningCallReport,
    ): Promise<RunningCallAnswer> {
      const running = await calls.rows.of(account.id)
      const known = running.find(({ id }) => id === report.id)
      if (known) return answerOf(report, known, await funds.secondsLeft(account, running))
      const { flat_rate_classifiers: classifiers } = await settings.of(routingSettings)
      const { classOf } = await numbers.planning.rules()
      const call = { direction: report.direction, classification: classOf(report.number) }
      const available = await funds.available(account, call, running)
      const paid = billingOf(call, await limits.inForce(account), available, { classifiers })
      if (typeof paid === 'string') return { id: report.id, allowed: false, reason: paid }
      const row = await calls.add(report, { trunk: undefined, ...paid }, running)
      const left = await funds.secondsLeft(account, [...running, row])
      await calls.reportEnds(author, [row], left)
      return answerOf(report, row, left)
    },

    /** Calls in progress. A call that is unknown here was allowed by this server earlier. */
    async goOn(
      author: Author,
      account: AccountRecord,
      reports: readonly RunningCallReport[],
    ): Promise<Answered[]> {
      const running = await calls.rows.of(account.id)
      const named = new Map<string, RunningCall>()
      const writes: Statement[] = []
      for (const report of reports) {
        const index = running.findIndex(({ id }) => id === report.id)
        const known = running[index]
        if (known) {
          const seen = calls.seen(known, report)
          writes.push(...seen.writes)
          running[index] = seen.row
          named.set(report.id, seen.row)
        } else if (!ended.has(report.id)) {
          const { account_billing: billing = perMinute, trunk } = report
          const row = await calls.add(report, { billing, trunk }, running)
          running.push(row)
          named.set(report.id, row)
        }
      }
      if (writes.length > 0) await store.writeUnrecorded(writes)
      const left = await funds.secondsLeft(account, running)
      await calls.reportEnds(author, [...named.values()], left)
      return reports.flatMap((report) => {
        const call = named.get(report.id)
        return call ? [[report, answerOf(report, call, left)]] : []
      })
    },
  }
}

export type RunningCallRegister = ReturnType<typeof createRunningCalls>

/** The running calls over carriers at all edges, and what they reserve. */
export const createRunningCalls = (deps: Deps) => {
  const { store, accounts, validate } = deps
  const { clock } = store
  const inTurn = createKeyedQueue()
  const startedAt = clock.now()
  const ended = new Map<string, true>()
  const funds = callFunds(deps)
  const calls = storedCalls(deps)
  const { begin, goOn } = callReports(deps, calls, funds, ended)

  /** Runs work on the calls of an account. It is repeated after a conflict with another server. */
  const atAccount = <T>(accountId: string, work: () => Promise<T>) =>
    inTurn(accountId, () => {
      let attempts = 0
      return retrying(
        async () => {
          attempts += 1
          if (attempts > 1) await store.fence()
          return work()
        },
        1,
        () => true,
      )
    })

  const validated = async (
    sent: unknown,
  ): Promise<{ report?: RunningCallReport; refusal?: RunningCallAnswer }> => {
    const { value, problems } = await validate(RunningCallReport, dropNulls(sent))
    if (!hasProblems(problems)) return { report: value }
    const id = memberOf(sent, 'id')
    const message = rejectionReason(problems)
    return { refusal: { id: typeof id === 'string' ? id : '', allowed: false, reason: 'invalid', message } }
  }

  const takeOf = async (
    author: Author,
    accountId: string,
    reports: readonly RunningCallReport[],
  ): Promise<Answered[]> => {
    const account = await accounts.find(accountId)
    if (!account)
      return reports.map((report) => [report, { id: report.id, allowed: false, reason: 'unknown_account' }])
    const { begun = [], going = [] } = Object.groupBy(reports, ({ account_billing: paid }) =>
      paid === undefined ? 'begun' : 'going',
    )
    return atAccount(accountId, async () => {
      const answers = going.length > 0 ? await goOn(author, account, going) : []
      for (const report of begun) answers.push([report, await begin(author, account, report)])
      return answers
    })
  }

  return {
    /** The means of an account to pay a call if no other call is running. */
    fundsFor: (account: AccountRecord, call: OffnetCall) => funds.available(account, call, []),

    /** Whether calls may begin, and how long calls may last, in the order of the request. */
    async take(author: Author, sent: readonly unknown[]): Promise<RunningCallAnswer[]> {
      const given = await Promise.all(sent.map(validated))
      const reports = given.flatMap(({ report }) => report ?? [])
      const ofAccounts = Map.groupBy(reports, ({ account_id: accountId }) => accountId)
      const answers = await Promise.all(
        Array.from(ofAccounts, ([accountId, some]) => takeOf(author, accountId, some)),
      )
      const answerFor = new Map(answers.flat())
      return given.flatMap(({ report, refusal }) => (report ? answerFor.get(report) : refusal) ?? [])
    },

    /** Removes calls that are over. An entry that cannot be a stored call is ignored. */
    async end(given: readonly unknown[]) {
      const over = given.flatMap((one) =>
        isObject(one) && isStorableText(one.id) && isStorableText(one.account_id)
          ? [{ accountId: one.account_id, id: one.id }]
          : [],
      )
      for (const { id } of over) {
        ended.set(id, true)
        evictOldest(ended, maxEnded)
      }
      const ofAccounts = Map.groupBy(over, ({ accountId }) => accountId)
      await Promise.all(
        // In turn, because a report of the same call may be in progress.
        Array.from(ofAccounts, ([accountId, some]) =>
          inTurn(accountId, () => store.writeUnrecorded(some.map(calls.rows.removal))),
        ),
      )
    },

    /** Removes calls whose edge is gone. After a start, edges get time to report theirs. */
    tidying: deleteOldRows(store, {
      name: 'running_calls',
      everySeconds: 60,
      table: 'running_calls',
      key: ['account_id', 'ordinal'],
      where: 'seen_at < $1',
      before: () => (clock.now() - startedAt < lostMs ? undefined : clock.now() - lostMs),
    }),
  }
}
