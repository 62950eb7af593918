import '@mantine/charts/styles.css'
import { BarChart } from '@mantine/charts'

/** A stacked bar chart over time. Loaded when a chart opens; a table below shows the same data. */
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
      gridAxis="x"
      barChartProps={{ accessibilityLayer: false }}
      barProps={{ isAnimationActive: false }}
    />
  </div>
)
