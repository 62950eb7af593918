import { getCdrStats, getLedgerTotal, listAlerts, listPhoneNumbers, listTasks } from '@crosspoint/client'
import { Badge, Box, Group, Loader, SimpleGrid, Stack, Text } from '@mantine/core'
import { lazy, Suspense } from 'react'
import { useTranslation } from 'react-i18next'
import { usePlace } from '../../frame/place.tsx'
import { showMoney, showNumber, showPercent } from '../../lib/amounts.ts'
import { useAnswer } from '../../lib/answers.ts'
import { api } from '../../lib/api.ts'
import { useAskingPeriod } from '../../lib/feed.ts'
import { Screen } from '../../parts/screen.tsx'
import { everyDay, lastDays, sumOf } from './call-days.ts'
import { Figure, FigureCard } from './card.tsx'
import { FirstSteps } from './first-steps.tsx'

const CallChart = lazy(async () => ({ default: (await import('./call-chart.tsx')).CallChart }))

// Calls are not reported one by one: there may be thousands per second.
const callsEvery = 15_000
// The polling interval without live events.
const othersEvery = 15_000
// One page is read; if there are more, the card says so.
const countedNumbers = 500
const countedTasks = 50

const useCallDays = () => {
  const { accountId, timezone } = usePlace()
  const { from, utcOffset } = lastDays(new Date(), timezone)
  return useAnswer(
    ['call_count', accountId, from],
    async (signal) => {
      const query = { created_from: String(from), interval: 'day', utc_offset: String(utcOffset) }
      const { data } = await getCdrStats({ ...api, path: { account_id: accountId }, query, signal })
      return everyDay(data, from)
    },
    { every: callsEvery },
  )
}

const CallCards = () => {
  const { t } = useTranslation()
  const found = useCallDays()
  const ratio = (calls: number, answered: number) => (calls === 0 ? '–' : showPercent(answered / calls))
  return (
    <>
      <FigureCard title={t('overview.callsToday')} screen="calls" found={found}>
        {(days) => {
          const { calls, answered } = sumOf(days.slice(-1))
          return (
            <Figure
              value={showNumber(calls)}
              unit={t('overview.ofThemAnswered', { answered: showNumber(answered) })}
            />
          )
        }}
      </FigureCard>
      <FigureCard title={t('overview.asr')} screen="calls" found={found}>
        {(days) => {
          const [today, all] = [sumOf(days.slice(-1)), sumOf(days)]
          return (
            <Figure
              value={ratio(today.calls, today.answered)}
              unit={t('overview.asrUnit', { ratio: ratio(all.calls, all.answered) })}
            />
          )
        }}
      </FigureCard>
    </>
  )
}

const ChartCard = () => {
  const { t } = useTranslation()
  const found = useCallDays()
  return (
    <FigureCard title={t('overview.callsOver30Days')} screen="calls" found={found}>
      {(days) =>
        sumOf(days).calls === 0 ? (
          <Text>{t('overview.noCalls')}</Text>
        ) : (
          <Box mih={220}>
            <Suspense fallback={<Loader size="sm" role="status" aria-label={t('loading')} />}>
              <CallChart days={days} />
            </Suspense>
          </Box>
        )
      }
    </FigureCard>
  )
}

const BalanceCard = () => {
  const { t } = useTranslation()
  const { accountId } = usePlace()
  const every = useAskingPeriod(othersEvery)
  const found = useAnswer(
    ['ledger', accountId, 'total'],
    (signal) => getLedgerTotal({ ...api, path: { account_id: accountId }, signal }),
    { every },
  )
  return (
    <FigureCard title={t('overview.balance')} screen="money" found={found}>
      {({ data: { amount } }) => <Figure value={showMoney(amount)} />}
    </FigureCard>
  )
}

/** How many numbers are in which state, most first. */
const statesOf = (numbers: Readonly<Record<string, { state?: string }>>) => {
  const counts = new Map<string, number>()
  for (const { state = '' } of Object.values(numbers)) counts.set(state, (counts.get(state) ?? 0) + 1)
  return [...counts].sort(([, one], [, other]) => other - one)
}

const NumbersCard = () => {
  const { t } = useTranslation()
  const { accountId } = usePlace()
  const every = useAskingPeriod(othersEvery)
  const found = useAnswer(
    ['number', accountId, 'states'],
    async (signal) => {
      const query = { page_size: countedNumbers }
      const page = await listPhoneNumbers({ ...api, path: { account_id: accountId }, query, signal })
      const numbers = Array.isArray(page.data) ? {} : page.data.numbers
      return { states: statesOf(numbers), isMore: page.next_start_key !== undefined }
    },
    { every },
  )
  return (
    <FigureCard title={t('screens.numbers')} screen="numbers" found={found}>
      {({ states, isMore }) => (
        <>
          <Figure
            value={`${showNumber(states.reduce((sum, [, count]) => sum + count, 0))}${isMore ? '+' : ''}`}
            unit={isMore ? t('overview.numbersMore', { count: countedNumbers }) : undefined}
          />
          <Group gap={4}>
            {states.map(([state, count]) => (
              <Badge key={state} color={state === 'in_service' ? 'green' : 'gray'}>
                {t(`overview.numberState.${state}`, { defaultValue: state })}: {showNumber(count)}
              </Badge>
            ))}
          </Group>
        </>
      )}
    </FigureCard>
  )
}

const AlertsCard = () => {
  const { t } = useTranslation()
  const { accountId } = usePlace()
  const every = useAskingPeriod(othersEvery)
  const found = useAnswer(
    ['alert', accountId, 'open'],
    (signal) => listAlerts({ ...api, path: { account_id: accountId }, signal }),
    { every },
  )
  return (
    <FigureCard title={t('overview.alerts')} screen="alerts" found={found}>
      {({ data }) => (
        <>
          <Figure value={showNumber(data.length)} />
          {data[0] && (
            <Text size="sm" lineClamp={2} dir="auto" style={{ overflowWrap: 'anywhere' }}>
              {data[0].title}
            </Text>
          )}
        </>
      )}
    </FigureCard>
  )
}

const TasksCard = () => {
  const { t } = useTranslation()
  const { accountId } = usePlace()
  const every = useAskingPeriod(othersEvery)
  const found = useAnswer(
    ['task', accountId, 'running'],
    (signal) => {
      const query = { page_size: countedTasks, filters: { filter_status: 'executing' } }
      return listTasks({ ...api, path: { account_id: accountId }, query, signal })
    },
    { every },
  )
  return (
    <FigureCard title={t('overview.tasks')} screen="tasks" found={found}>
      {({ data, next_start_key: next }) => (
        <Figure value={`${showNumber(data.length)}${next === undefined ? '' : '+'}`} />
      )}
    </FigureCard>
  )
}

/** The activity of an account: each figure links to its screen. Empty accounts show the first steps. */
export const Overview = () => {
  const { t } = useTranslation()
  return (
    <Screen title={t('screens.overview')}>
      <Stack gap="md">
        <FirstSteps />
        <SimpleGrid cols={{ base: 1, xs: 2, md: 3 }}>
          <CallCards />
          <BalanceCard />
          <NumbersCard />
          <AlertsCard />
          <TasksCard />
        </SimpleGrid>
        <ChartCard />
      </Stack>
    </Screen>
  )
}
