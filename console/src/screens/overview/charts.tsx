import '@mantine/charts/styles.css'
import { BarChart, type BarChartSeries } from '@mantine/charts'
import { Box } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { showMoney, showNumber } from '../../lib/amounts.ts'
import { showShortDay, showShortMonth } from '../../lib/times.ts'
import { type CallDay, daySeconds, sumOf } from './call-days.ts'

interface Bars {
  label: string
  data: Record<string, string | number>[]
  series: BarChartSeries[]
  show: (value: number) => string
}

export const chartHeight = 220

const Bars = ({ label, data, series, show }: Bars) => (
  <Box role="img" aria-label={label} mt="sm">
    <BarChart
      h={chartHeight}
      data={data}
      dataKey="time"
      type="stacked"
      withLegend={series.length > 1}
      series={series}
      valueFormatter={show}
      yAxisProps={{ tickFormatter: (value: number) => showNumber(value, { notation: 'compact' }) }}
      barChartProps={{ accessibilityLayer: false }}
      barProps={{ isAnimationActive: false }}
    />
  </Box>
)

/** Calls of each day, answered ones separately. `timezone`: in which the days begin. */
export const CallChart = ({ days, timezone }: { days: readonly CallDay[]; timezone: string | undefined }) => {
  const { t } = useTranslation()
  const { calls, answered } = sumOf(days)
  return (
    <Bars
      label={t('overview.chart', { calls: showNumber(calls), answered: showNumber(answered) })}
      data={days.map((day) => ({
        // At noon it is that day also where clocks were changed in between.
        time: showShortDay(day.start + daySeconds / 2, timezone),
        answered: day.answered,
        unanswered: day.calls - day.answered,
      }))}
      series={[
        { name: 'answered', label: t('overview.answered'), color: 'blue.8' },
        { name: 'unanswered', label: t('overview.unanswered'), color: 'gray.6' },
      ]}
      show={(value) => showNumber(value)}
    />
  )
}

/** Money of each month. `start`: a Gregorian second of the month, in UTC. */
export const MoneyChart = ({ label, months }: { label: string; months: readonly MonthSum[] }) => (
  <Bars
    label={label}
    data={months.map(({ start, amount }) => ({ time: showShortMonth(start, 'UTC'), amount }))}
    series={[{ name: 'amount', label, color: 'blue.8' }]}
    show={(value) => showMoney(value)}
  />
)

export interface MonthSum {
  start: number
  amount: number
}
