// Prometheus metrics by prom-client. Gauges are read on request.
import {
  AggregatorRegistry,
  Counter,
  Gauge,
  Histogram,
  type MetricObjectWithValues,
  type MetricValue,
  Registry,
} from 'prom-client'

export interface Reading {
  labels: readonly string[]
  value: number
}

interface Description {
  /** With its unit, and `_total` for counters. */
  name: string
  help: string
  /** Few values, never chosen by clients. */
  labels?: readonly string[]
}

interface GaugeDescription extends Description {
  /** Values of threads are added; otherwise the largest counts. */
  isOfThread?: boolean
}

type Readings = number | readonly Reading[]

/** Can be sent to another thread. */
export type Figures = MetricObjectWithValues<MetricValue<string>>[]

export type Metrics = ReturnType<typeof createMetrics>

/** Seconds. */
export const secondsBounds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

/** All threads together, in the text format 0.0.4. */
export const figuresText = (all: readonly Figures[]): Promise<string> =>
  AggregatorRegistry.aggregate([...all]).metrics()

export const createMetrics = () => {
  const registry = new Registry()

  const options = ({ name, help, labels = [] }: Description) => ({
    name,
    help,
    labelNames: [...labels],
    registers: [registry],
  })

  return {
    counter: (description: Description) => new Counter(options(description)),

    histogram: (description: Description & { bounds: readonly number[] }) =>
      new Histogram({ ...options(description), buckets: [...description.bounds] }),

    /** Read on request; left out if that fails. */
    gauge(description: GaugeDescription, read: () => Readings | Promise<Readings>) {
      new Gauge({
        ...options(description),
        aggregator: description.isOfThread ? 'sum' : 'max',
        async collect() {
          const found = await Promise.resolve()
            .then(read)
            .catch((): Readings => [])
          this.reset()
          const readings = typeof found === 'number' ? [{ labels: [], value: found }] : found
          for (const { labels, value } of readings) this.labels(...labels).set(value)
        },
      })
    },

    /** For values that only grow. */
    counted(description: Description, read: () => readonly Reading[]) {
      new Counter({
        ...options(description),
        collect() {
          this.reset()
          for (const { labels, value } of read()) this.labels(...labels).inc(value)
        },
      })
    },

    figures: (): Promise<Figures> => registry.getMetricsAsJSON(),
  }
}
