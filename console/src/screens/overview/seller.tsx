import { getAbout, getFigureDescendants, listJobs } from '@crosspoint/client'
import { Grid, SimpleGrid } from '@mantine/core'
import { Building2, ChartColumn, CircleAlert, CircleCheck, Cog, Wallet } from 'lucide-react'
import { lazy, Suspense } from 'react'
import { useTranslation } from 'react-i18next'
import { usePlace } from '../../frame/place.tsx'
import { showMoney, showNumber } from '../../lib/amounts.ts'
import { useAnswer } from '../../lib/answers.ts'
import { api } from '../../lib/api.ts'
import { gregorianOf } from '../../lib/times.ts'
import { Loading } from '../../parts/screen.tsx'
import { useReadiness } from '../system/health.tsx'
import { everyDay, lastDays } from './call-days.ts'
import { Figure, FigureCard } from './card.tsx'
import { AlertsCard, BalanceCard, CallChartCard, othersEvery, TasksCard } from './cards.tsx'
import { Customers } from './customers.tsx'

const MoneyChart = lazy(async () => ({ default: (await import('./charts.tsx')).MoneyChart }))

// The sums of all sub-accounts have no event.
const sumsEvery = 60_000
const shownMonths = 6
const countedJobs = 50

/** The last months with what accounts were charged; the API leaves out those without charges. */
const everyMonth = (charged: readonly { month: string; amount: number }[], now: Date) => {
  const amounts = new Map(charged.map(({ month, amount }) => [month, amount]))
  return Array.from({ length: shownMonths }, (_, index) => {
    const start = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1 + index - shownMonths, 15))
    return { start: gregorianOf(start), amount: amounts.get(start.toISOString().slice(0, 7)) ?? 0 }
  })
}

const useSums = () => {
  const { accountId } = usePlace()
  const { from } = lastDays(new Date(), 'UTC')
  return useAnswer(
    ['figures', accountId, from],
    async (signal) => {
      const path = { account_id: accountId }
      const query = { created_from: String(from) }
      const { data } = await getFigureDescendants({ ...api, path, query, signal })
      return { ...data, days: everyDay(data.calls, from), months: everyMonth(data.charged, new Date()) }
    },
    { every: sumsEvery },
  )
}

type Sums = ReturnType<typeof useSums>

const SumCards = ({ found }: { found: Sums }) => {
  const { t } = useTranslation()
  return (
    <>
      <FigureCard title={t('overview.accounts')} Icon={Building2} screen="accounts" found={found}>
        {({ accounts, disabled }) => (
          <Figure
            value={showNumber(accounts)}
            unit={
              accounts === 0
                ? t('overview.noAccounts')
                : disabled === 0
                  ? t('overview.allEnabled')
                  : t('overview.disabled', { count: disabled })
            }
          />
        )}
      </FigureCard>
      <FigureCard title={t('overview.revenue')} Icon={ChartColumn} found={found}>
        {({ months }) => (
          <Figure
            value={showMoney(months.at(-1)?.amount ?? 0)}
            unit={t('overview.lastMonth', { amount: showMoney(months.at(-2)?.amount ?? 0) })}
          />
        )}
      </FigureCard>
      <FigureCard title={t('overview.overdrawn')} Icon={Wallet} found={found}>
        {({ overdrawn }) => (
          <Figure
            value={showNumber(overdrawn)}
            unit={t(overdrawn === 0 ? 'overview.noneOverdrawn' : 'overview.belowZero')}
            isBad={overdrawn > 0}
          />
        )}
      </FigureCard>
    </>
  )
}

const JobsCard = () => {
  const { t } = useTranslation()
  const found = useAnswer(
    ['work', 'failed'],
    (signal) => listJobs({ ...api, query: { state: 'failed', page_size: countedJobs }, signal }),
    { every: othersEvery },
  )
  return (
    <FigureCard title={t('overview.failedJobs')} Icon={Cog} screen="system/work" found={found}>
      {({ data, next_start_key: next }) => (
        <Figure
          value={`${showNumber(data.length)}${next === undefined ? '' : '+'}`}
          unit={data[0]?.kind ?? t('overview.noFailedJobs')}
          isBad={data.length > 0}
        />
      )}
    </FigureCard>
  )
}

const SystemCard = () => {
  const { t } = useTranslation()
  const about = useAnswer(['about'], (signal) => getAbout({ ...api, signal }), { every: othersEvery })
  const readiness = useReadiness()
  const isReady = readiness.data?.isReady !== false
  return (
    <FigureCard
      title={t('screens.system')}
      Icon={isReady ? CircleCheck : CircleAlert}
      screen="system"
      found={about}
    >
      {({ data: { version = '' } }) => (
        <Figure
          value={t(isReady ? 'system.ready' : 'system.notReady')}
          unit={t('overview.version', { version })}
          isBad={!isReady}
        />
      )}
    </FigureCard>
  )
}

/** The customers of a reseller, or the accounts of an operator. */
export const SellerFigures = () => {
  const { t } = useTranslation()
  const { isMaster } = usePlace()
  const found = useSums()
  const { error, refetch, dataUpdatedAt } = found
  return (
    <>
      <SimpleGrid cols={{ base: 2, md: 3 }} spacing={{ base: 'xs', sm: 'md' }}>
        <SumCards found={found} />
        <AlertsCard />
        {isMaster ? (
          <>
            <JobsCard />
            <SystemCard />
          </>
        ) : (
          <>
            <BalanceCard />
            <TasksCard />
          </>
        )}
      </SimpleGrid>
      {found.data && <Customers accounts={found.data.accounts} />}
      {found.data?.accounts !== 0 && (
        <Grid>
          <Grid.Col span={{ base: 12, md: 8 }}>
            <CallChartCard
              title={t('overview.callsBelow')}
              screen="calls/charts?of=below&range=month"
              found={{ data: found.data?.days, error, refetch, dataUpdatedAt }}
              timezone="UTC"
            />
          </Grid.Col>
          <Grid.Col span={{ base: 12, md: 4 }}>
            <FigureCard title={t('overview.revenueByMonth')} found={found} height={290}>
              {({ months }) => (
                <>
                  <Figure
                    value={showMoney(months.reduce((sum, { amount }) => sum + amount, 0))}
                    unit={t('overview.months', { count: shownMonths })}
                  />
                  <Suspense fallback={<Loading />}>
                    <MoneyChart label={t('overview.revenueByMonth')} months={months} />
                  </Suspense>
                </>
              )}
            </FigureCard>
          </Grid.Col>
        </Grid>
      )}
    </>
  )
}
