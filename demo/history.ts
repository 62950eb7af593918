import type { Entry } from '../src/areas/calls/cdrs/intake/operations.ts'
import { dayMs } from '../src/lib/gregorian.ts'
import { elementAt } from '../src/lib/list.ts'
import { type BuiltCompany, buildAccounts, type Demo } from './accounts.ts'
import {
  billAll,
  chargeWeek,
  creditNewestInvoice,
  creditOutage,
  editRecords,
  moveNumbers,
  putAlerts,
  putBrands,
  putLimits,
  putRates,
  putStock,
  putTasks,
  putWebhooks,
  runRound,
  topUp,
  watchMoney,
} from './activity.ts'
import { legsByHour, legsOf } from './calls.ts'
import { createRandom } from './random.ts'

const daysOfCalls = 60
/** Accounts, plans and numbers are set up before the first call. */
export const daysOfHistory = daysOfCalls + 2

const weekDays = 7
const seed = 20_260_101

export const randomOfDemo = () => createRandom(seed)

interface Step {
  daysAgo: number
  run(): Promise<unknown>
}

const setUp = async (demo: Demo) => {
  await putStock(demo)
  await putRates(demo)
  const accounts = await buildAccounts(demo)
  await putBrands(demo, elementAt(accounts.sellers, 0))
  await putLimits(accounts.companies)
  return accounts
}

type Accounts = Awaited<ReturnType<typeof setUp>>

/** Moments at which a month begins, as days before the end. */
const monthsBegin = ({ history }: Demo): number[] => {
  const end = new Date(history.end)
  const months = [0, 1, 2].map((back) => Date.UTC(end.getUTCFullYear(), end.getUTCMonth() - back, 1, 0, 30))
  return months.map((at) => (history.end - at) / dayMs).filter((days) => days > 0 && days < daysOfCalls)
}

const activitySteps = (demo: Demo, { companies, sellers }: Accounts): Step[] => {
  const bySlug = new Map(companies.map((built) => [built.company.slug, built]))
  const [hotel, freight] = ['juniper-hotel', 'cascade-freight'].map((slug) => bySlug.get(slug)) as [
    BuiltCompany,
    BuiltCompany,
  ]
  const paying = companies.filter(({ company }) => company.plan)
  const open = companies.filter(({ company }) => company.disabledDaysAgo === undefined)
  const step = (daysAgo: number, run: Step['run']): Step => ({ daysAgo, run })
  return [
    ...[daysOfCalls - 0.5, ...monthsBegin(demo)].map((days) =>
      step(days, () => billAll(demo, [...sellers, ...paying])),
    ),
    ...companies.flatMap(({ company, path, seller }) =>
      Object.entries(company.topups).map(([days, dollars]) =>
        step(Number(days), () => topUp(seller.admin, path, dollars)),
      ),
    ),
    ...Array.from({ length: Math.floor(daysOfCalls / weekDays) }, (_, week) =>
      step(daysOfCalls - (week + 1) * weekDays, () => chargeWeek(demo, week + 1, paying)),
    ),
    ...companies.flatMap(({ company: { disabledDaysAgo: days }, path, seller }) =>
      days === undefined ? [] : step(days, () => seller.admin(`PATCH ${path}`, { enabled: false })),
    ),
    ...sellers.map(({ path }) => step(33, () => topUp(demo.operator, path, 1500))),
    step(20, () => creditOutage(hotel)),
    step(18, () => creditNewestInvoice(hotel)),
    step(15, () => editRecords(open)),
    step(9, () => watchMoney(freight)),
    step(8, () => putWebhooks(freight)),
    step(4, () => moveNumbers(demo, open)),
    step(2, () => putAlerts(demo, open)),
    step(1.2, () => putTasks(demo, open, elementAt(sellers, 0))),
  ]
}

/** The calls of each day are stored when it is over. */
const callSteps = (
  { history, server }: Demo,
  { companies }: Accounts,
  legs: number,
  onCalls: (count: number) => void,
): Step[] => {
  const random = createRandom(seed + 1)
  const start = history.daysAgo(daysOfCalls)
  const end = Math.floor(history.end / 1000)
  const cells = legsByHour(
    companies.map(({ calling }) => calling),
    start,
    daysOfCalls,
    legs,
  )
  return Array.from({ length: daysOfCalls }, (_, day) => ({
    daysAgo: daysOfCalls - day - 1,
    async run() {
      const [from, to] = [start + day * dayMs, start + (day + 1) * dayMs]
      const records = cells
        .filter(({ at }) => at >= from && at < to)
        .flatMap(({ company, ...cell }) => legsOf(company, { ...cell, end }, random))
      const entries = async function* (): AsyncGenerator<readonly Entry[]> {
        yield records.map((record, index) => ({ line: index + 1, record }))
      }
      const author = { requestId: 'demo', authMethod: 'command' } as const
      const report = await server.areas.cdrs.intake.take(author, entries(), { paid: 'elsewhere' })
      if (report.rejected_total > 0) throw new Error(`a call was rejected: ${report.rejected[0]?.reason}`)
      onCalls(report.accepted)
    },
  }))
}

/** Two months of the life of a telephone company. */
export const runHistory = async (demo: Demo, legs: number, onCalls: (count: number) => void) => {
  const accounts = await setUp(demo)
  const steps = [...activitySteps(demo, accounts), ...callSteps(demo, accounts, legs, onCalls)]
  for (const { daysAgo, run } of steps.toSorted((a, b) => b.daysAgo - a.daysAgo)) {
    demo.history.goTo(demo.history.daysAgo(daysAgo))
    await run()
  }
  for (const round of ['quantities', 'invoice_mail', 'low_balance', 'mail']) await runRound(demo, round)
}
