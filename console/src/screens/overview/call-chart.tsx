import '@mantine/charts/styles.css'
import { BarChart } from '@mantine/charts'
import { Box } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { usePlace } from '../../frame/place.tsx'
import { showNumber } from '../../lib/amounts.ts'
import { showDay } from '../../lib/times.ts'
import { type CallDay, daySeconds, sumOf } from './call-days.ts'

/** Calls of each day, those that were answered apart. */
export const CallChart = ({ days }: { days: readonly CallDay[] }) => {
  const { t } = useTranslation()
  const { timezone } = usePlace()
  const data = days.map(({ start, calls, answered }) => ({
    // At noon it is that day also where clocks were changed in between.
    day: showDay(start + daySeconds / 2, timezone),
    answered,
    unanswered: calls - answered,
  }))
  const { calls, answered } = sumOf(days)
  return (
    <Box
      role="img"
      aria-label={t('overview.chart', { calls: showNumber(calls), answered: showNumber(answered) })}
    >
      <BarChart
        h={220}
        data={data}
        dataKey="day"
        type="stacked"
        withLegend
        series={[
          { name: 'answered', label: t('overview.answered'), color: 'blue.8' },
          { name: 'unanswered', label: t('overview.unanswered'), color: 'gray.6' },
        ]}
        valueFormatter={(value) => showNumber(value)}
        barChartProps={{ accessibilityLayer: false }}
        barProps={{ isAnimationActive: false }}
      />
    </Box>
  )
}
