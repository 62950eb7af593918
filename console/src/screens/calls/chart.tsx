import '@mantine/charts/styles.css'
import { BarChart } from '@mantine/charts'

/** Bars over time, each made of its groups. Loaded when a chart is opened; what it shows stands in a table below it. */
export const Chart = ({
  data,
  series,
}: {
  data: Record<string, string | number>[]
  series: { name: string; label: string; color: string }[]
}) => (
  <div aria-hidden="true">
    <BarChart
      h={300}
      data={data}
      dataKey="start"
      type="stacked"
      series={series}
      withLegend={series.length > 1}
      gridAxis="y"
      barChartProps={{ accessibilityLayer: false }}
      barProps={{ isAnimationActive: false }}
    />
  </div>
)
