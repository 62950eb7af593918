import type { Entry } from '../../areas/calls/cdrs/intake/operations.ts'
import { dayMs } from '../../lib/gregorian.ts'
import { putBrands } from './brands.ts'
import { legsByHour, legsOf } from './calls.ts'
import { createChance } from './chance.ts'
import {
  assignPlans,
  billEverybody,
  chargeWeek,
  creditNewestInvoice,
  giveBack,
  topUp,
  topUpResellers,
} from './money.ts'
import { buyNumbers, moveNumbers, putRates, stockNumbers } from './numbers.ts'
import { type BuiltCompany, type BuiltReseller, buildTree, type Stage } from './tree.ts'
import { liveOn, putAlerts, putLimits, putTasks, putWebhooks, watchMoney } from './work.ts'

/** The calls are of so many days; before them everything is set up. */
const daysOfCalls = 60
export const daysOfStory = daysOfCalls + 2

const weekDays = 7
const seed = 20_260_101

interface Cast {
  companies: readonly BuiltCompany[]
  sellers: readonly BuiltReseller[]
}

interface Chapter {
  daysAgo: number
  run(): Promise<unknown>
}

const companyOf = ({ companies }: Cast, slug: string) => {
  const found = companies.find(({ company }) => company.slug === slug)
  if (!found) throw new Error(`there is no company ${slug}`)
  return found
}

const setUp = async (stage: Stage): Promise<Cast> => {
  await stockNumbers(stage)
  await putRates(stage)
  const { sellers, companies: built } = await buildTree(stage)
  await putBrands(stage, sellers)
  const companies = await buyNumbers(built)
  await putLimits(companies)
  await assignPlans(companies)
  return { sellers, companies }
}

/** Moments at which a month begins, as days before the end. */
const beginningsOfMonths = ({ past }: Stage): number[] => {
  const first = new Date(past.end)
  const months = [0, 1, 2].map((back) =>
    Date.UTC(first.getUTCFullYear(), first.getUTCMonth() - back, 1, 0, 30),
  )
  return months.map((at) => (past.end - at) / dayMs).filter((days) => days > 0 && days < daysOfCalls)
}

const chaptersOf = (stage: Stage, cast: Cast): Chapter[] => {
  const { companies, sellers } = cast
  const paying = companies.filter(({ company }) => company.plan)
  const payers = [...sellers, ...paying]
  const open = companies.filter(({ company }) => company.disabledDaysAgo === undefined)
  const weeks = Math.floor(daysOfCalls / weekDays)
  const lift = companyOf(cast, 'juniper-hotel')
  const freight = companyOf(cast, 'cascade-freight')
  return [
    { daysAgo: daysOfCalls - 0.5, run: () => billEverybody(stage, payers) },
    ...beginningsOfMonths(stage).map((daysAgo) => ({ daysAgo, run: () => billEverybody(stage, payers) })),
    ...companies.flatMap((built) =>
      built.company.topups.map(([daysAgo, dollars]) => ({ daysAgo, run: () => topUp(built, dollars) })),
    ),
    ...Array.from({ length: weeks }, (_, week) => ({
      daysAgo: daysOfCalls - (week + 1) * weekDays,
      run: () => chargeWeek(stage, week + 1, paying),
    })),
    ...companies.flatMap(({ company: { disabledDaysAgo }, path, seller }) =>
      disabledDaysAgo === undefined
        ? []
        : [{ daysAgo: disabledDaysAgo, run: () => seller.admin.patch(path, { enabled: false }) }],
    ),
    { daysAgo: 33, run: () => topUpResellers(stage, sellers) },
    { daysAgo: 20, run: () => giveBack(lift) },
    { daysAgo: 18, run: () => creditNewestInvoice(lift) },
    { daysAgo: 15, run: () => liveOn(open) },
    { daysAgo: 9, run: () => watchMoney(freight) },
    { daysAgo: 8, run: () => putWebhooks(freight) },
    { daysAgo: 4, run: () => moveNumbers(stage, open) },
    { daysAgo: 2, run: () => putAlerts(stage, open) },
    { daysAgo: 1.2, run: () => putTasks(stage, open, sellers) },
  ]
}

/** The calls of every day come in when it is over. */
const dailyCalls = (
  stage: Stage,
  { companies }: Cast,
  legs: number,
  onCalls: (count: number) => void,
): Chapter[] => {
  const { past, server } = stage
  const chance = createChance(seed + 1)
  const start = past.daysAgo(daysOfCalls)
  const end = Math.floor(past.end / 1000)
  const calling = companies.map(({ calling: telephoning }) => telephoning)
  const cells = legsByHour(calling, start, daysOfCalls, legs)
  const author = { requestId: 'demo', authMethod: 'command' } as const
  return Array.from({ length: daysOfCalls }, (_, day) => ({
    daysAgo: daysOfCalls - day - 1,
    async run() {
      const [from, to] = [start + day * dayMs, start + (day + 1) * dayMs]
      const legsOfDay = cells
        .filter(({ at }) => at >= from && at < to)
        .flatMap(({ at, company, count }) => (company ? legsOf(company, { at, count, end }, chance) : []))
      const entries = async function* (): AsyncGenerator<readonly Entry[]> {
        yield legsOfDay.map((record, index) => ({ line: index + 1, record }))
      }
      const report = await server.areas.cdrs.intake.take(author, entries(), { paid: 'elsewhere' })
      if (report.rejected_total > 0) throw new Error(`a call was rejected: ${report.rejected[0]?.reason}`)
      onCalls(report.accepted)
    },
  }))
}

export interface SeedProgress {
  onCalls(count: number): void
}

/** Tells two months of the life of a telephone company, as it would have happened. */
export const seedDemo = async (stage: Stage, legs: number, { onCalls }: SeedProgress) => {
  const cast = await setUp(stage)
  const chapters = [...chaptersOf(stage, cast), ...dailyCalls(stage, cast, legs, onCalls)]
  for (const { daysAgo, run } of chapters.toSorted((a, b) => b.daysAgo - a.daysAgo)) {
    stage.past.goTo(stage.past.daysAgo(daysAgo))
    await run()
  }
  for (const round of ['quantities', 'invoice_mail', 'low_balance', 'mail']) await stage.work(round)
}

export const chanceOfStory = () => createChance(seed)
