import { type CallStatisticsOfAnInterval, getCdrStats, getFigureDescendants } from '@crosspoint/client'
import { Group, ScrollArea, SegmentedControl, Select, Stack, Table, Text } from '@mantine/core'
import { ChartColumn } from 'lucide-react'
import { lazy, Suspense } from 'react'
import { useTranslation } from 'react-i18next'
import { usePlace, useTo } from '../../frame/place.tsx'
import { showMoney, showNumber, showPercent } from '../../lib/amounts.ts'
import { useAnswer } from '../../lib/answers.ts'
import { api } from '../../lib/api.ts'
import { FailureNote } from '../../lib/failures.tsx'
import {
  gregorianNow,
  gregorianOf,
  offsetAt,
  showDay,
  showDuration,
  showMonth,
  showTime,
} from '../../lib/times.ts'
import { Empty } from '../../parts/empty.tsx'
import { ButtonToScreen } from '../../parts/link.tsx'
import { Loading, Screen } from '../../parts/screen.tsx'
import { RangeChoice, useCallFilters } from './filters.tsx'

const Chart = lazy(async () => ({ default: (await import('./chart.tsx')).Chart }))

const intervals = ['hour', 'day', 'month'] as const
const groupings = ['call_direction', 'hangup_cause', 'owner_id', 'authorizing_id'] as const
const measures = ['calls', 'answered', 'billing_seconds', 'cost'] as const
type Measure = (typeof measures)[number]

const colors = ['blue.7', 'green.7', 'orange.7', 'grape.7', 'cyan.7', 'red.7', 'yellow.7', 'gray.6'] as const
// The remaining groups are summed up as one.
const mostGroups = colors.length - 1

const unitsOfOne = 10_000

const isOneOf = <T extends string>(values: readonly T[], text: string | null): text is T =>
  values.some((value) => value === text)

/** The subject of the chart, in the address next to the range. */
const useChartChoice = () => {
  const filters = useCallFilters()
  const params = new URLSearchParams(filters.search)
  const { isMaster, isReseller, isPlainUser } = usePlace()
  const [interval, measure, group] = [params.get('interval'), params.get('measure'), params.get('group')]
  const sells = (isMaster || isReseller) && !isPlainUser
  const isBelow = sells && params.get('of') === 'below'
  const usual = filters.preset === 'today' ? 'hour' : 'day'
  return {
    ...filters,
    sells,
    /** Calls of all sub-accounts, which the API counts by UTC day only. */
    isBelow,
    interval: isBelow ? 'day' : isOneOf(intervals, interval) ? interval : usual,
    measure: isOneOf(measures, measure) ? measure : 'calls',
    group: !isBelow && isOneOf(groupings, group) ? group : undefined,
  } as const
}

type Choice = ReturnType<typeof useChartChoice>

const Controls = ({ choice }: { choice: Choice }) => {
  const { t } = useTranslation()
  const { sells, isBelow, interval, measure, group, set } = choice
  return (
    <Stack gap="sm">
      <RangeChoice {...choice} />
      <Group align="end" gap="sm">
        {sells && (
          <Select
            label={t('calls.of')}
            value={isBelow ? 'below' : 'own'}
            allowDeselect={false}
            onChange={(chosen) => set({ of: chosen })}
            data={['own', 'below'].map((value) => ({ value, label: t(`calls.accounts.${value}`) }))}
          />
        )}
        {!isBelow && (
          <SegmentedControl
            transitionDuration={0}
            aria-label={t('calls.by')}
            value={interval}
            onChange={(chosen) => set({ interval: chosen })}
            data={intervals.map((value) => ({ value, label: t(`calls.intervals.${value}`) }))}
          />
        )}
        <Select
          label={t('calls.measure')}
          value={measure}
          allowDeselect={false}
          onChange={(chosen) => set({ measure: chosen })}
          data={measures.map((value) => ({ value, label: t(`calls.measures.${value}`) }))}
        />
        {!isBelow && (
          <Select
            label={t('calls.group')}
            placeholder={t('calls.ungrouped')}
            clearable
            value={group ?? null}
            onChange={(chosen) => set({ group: chosen })}
            data={groupings.map((value) => ({ value, label: t(`calls.groups.${value}`) }))}
          />
        )}
      </Group>
    </Stack>
  )
}

const figureOf = (stat: CallStatisticsOfAnInterval, measure: Measure) =>
  measure === 'cost'
    ? stat.cost / unitsOfOne
    : measure === 'billing_seconds'
      ? Math.round(stat.billing_seconds / 60)
      : stat[measure]

/** The groups with most calls; what is left of them is one group, undefined. */
const largestGroups = (stats: readonly CallStatisticsOfAnInterval[]) => {
  const sums = new Map<string, number>()
  for (const { group = '', calls } of stats) sums.set(group, (sums.get(group) ?? 0) + calls)
  return [...sums]
    .sort(([, one], [, other]) => other - one)
    .slice(0, mostGroups)
    .map(([group]) => group)
}

// Days and months are counted by the offset that the zone has now: their beginnings are an hour away from midnight where
// clocks were changed in between, their middles are not.
const middleOf = { hour: 0, day: 43_200, month: 15 * 86_400 } as const

const useShowStart = ({ interval, isBelow }: Choice) => {
  const place = usePlace()
  const timezone = isBelow ? 'UTC' : place.timezone
  const show = { hour: showTime, day: showDay, month: showMonth }[interval]
  return (start: number) => show(start + middleOf[interval], timezone)
}

const Bars = ({ stats, choice }: { stats: readonly CallStatisticsOfAnInterval[]; choice: Choice }) => {
  const { t } = useTranslation()
  const showStart = useShowStart(choice)
  const groups = largestGroups(stats)
  const rows = new Map<number, Record<string, string | number>>()
  for (const stat of stats) {
    const at = groups.indexOf(stat.group ?? '')
    // A name of a group may hold dots, which the chart would take for a path.
    const name = `group${at === -1 ? mostGroups : at}`
    const row = rows.get(stat.start) ?? { start: showStart(stat.start) }
    row[name] = Number(row[name] ?? 0) + figureOf(stat, choice.measure)
    rows.set(stat.start, row)
  }
  const labels = groups.map((group) => group || t(choice.group ? 'calls.noGroup' : 'screens.calls'))
  const all = stats.some(({ group = '' }) => !groups.includes(group))
    ? [...labels, t('calls.others')]
    : labels
  const series = all.map((label, at) => ({
    name: `group${at}`,
    label,
    color: colors[at] ?? colors[mostGroups] ?? 'gray.6',
  }))
  return (
    <Suspense fallback={<Loading />}>
      <Chart data={[...rows.values()]} series={series} />
    </Suspense>
  )
}

// More rows would slow down the page; the API returns all of them.
const mostRows = 1_000

const Figures = ({ stats, choice }: { stats: readonly CallStatisticsOfAnInterval[]; choice: Choice }) => {
  const { t } = useTranslation()
  const showStart = useShowStart(choice)
  return (
    <ScrollArea.Autosize
      mah={480}
      type="auto"
      viewportProps={{ tabIndex: 0, role: 'region', 'aria-label': t('calls.figures') }}
    >
      <Table aria-label={t('calls.figures')} stickyHeader>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{t(`calls.intervals.${choice.interval}`)}</Table.Th>
            {choice.group && <Table.Th>{t(`calls.groups.${choice.group}`)}</Table.Th>}
            <Table.Th ta="end">{t('calls.measures.calls')}</Table.Th>
            <Table.Th ta="end">{t('calls.measures.answered')}</Table.Th>
            <Table.Th ta="end">{t('calls.ratio')}</Table.Th>
            <Table.Th ta="end">{t('calls.average')}</Table.Th>
            <Table.Th ta="end">{t('calls.measures.billing_seconds')}</Table.Th>
            <Table.Th ta="end">{t('calls.measures.cost')}</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {stats.slice(0, mostRows).map((stat) => (
            <Table.Tr key={`${stat.start} ${stat.group}`}>
              <Table.Td>{showStart(stat.start)}</Table.Td>
              {choice.group && (
                <Table.Td>
                  <bdi>{stat.group || t('calls.noGroup')}</bdi>
                </Table.Td>
              )}
              <Table.Td ta="end">{showNumber(stat.calls)}</Table.Td>
              <Table.Td ta="end">{showNumber(stat.answered)}</Table.Td>
              <Table.Td ta="end">{showPercent(stat.answer_seizure_ratio)}</Table.Td>
              <Table.Td ta="end">{showDuration(stat.average_call_duration)}</Table.Td>
              <Table.Td ta="end">{showNumber(Math.round(stat.billing_seconds / 60))}</Table.Td>
              <Table.Td ta="end">{showMoney(stat.cost / unitsOfOne)}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </ScrollArea.Autosize>
  )
}

/** How many calls there were, by hour, day or month, and by what they have in common. */
export const CallCharts = () => {
  const { t } = useTranslation()
  const { accountId, timezone } = usePlace()
  const to = useTo()
  const choice = useChartChoice()
  const path = { account_id: accountId }
  const query = {
    ...choice.window,
    interval: choice.interval,
    ...(choice.group === undefined ? {} : { group_by: choice.group }),
    utc_offset: String(offsetAt(gregorianNow(), timezone)),
  }
  const found = useAnswer(
    ['cdr', accountId, 'stats', choice.isBelow, query],
    async (signal) =>
      choice.isBelow
        ? (await getFigureDescendants({ ...api, path, query: choice.window, signal })).data.calls
        : (await getCdrStats({ ...api, path, query, signal })).data,
    { every: 60_000 },
  )
  const stats = found.data
  return (
    <Screen
      title={t('calls.chartsTitle')}
      actions={
        <ButtonToScreen to={to(`calls?${choice.search}`)} variant="default">
          {t('calls.toList')}
        </ButtonToScreen>
      }
    >
      <Controls choice={choice} />
      {found.error && <FailureNote error={found.error} again={found.refetch} />}
      {!stats && !found.error && <Loading />}
      {stats?.length === 0 && <Empty Icon={ChartColumn} text={t('calls.empty')} />}
      {stats && stats.length > 0 && (
        <Stack>
          <Text size="xs" c="dimmed" role="status">
            {t('calls.asOf', { time: showTime(gregorianOf(new Date(found.dataUpdatedAt)), timezone) })}
            {choice.isBelow && `; ${t('calls.utcDays')}`}
          </Text>
          <Bars stats={stats} choice={choice} />
          <Figures stats={stats} choice={choice} />
          {stats.length > mostRows && (
            <Text size="xs">{t('calls.moreFigures', { count: stats.length - mostRows })}</Text>
          )}
        </Stack>
      )}
    </Screen>
  )
}
