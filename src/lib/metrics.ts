// Metrics for Prometheus, by prom-client. Counting is done during every request; gauges are read when a client asks.
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
  /** Each has few values: never what clients choose. */
  labels?: readonly string[]
}

interface GaugeDescription extends Description {
  /** Each thread that answers requests has its own values, which are added. Otherwise the threads know the same, and the largest value counts. */
  isOfThread?: boolean
}

type Readings = number | readonly Reading[]

/** The metrics of a moment, which can be sent to another thread. */
export type Figures = MetricObjectWithValues<MetricValue<string>>[]

export type Metrics = ReturnType<typeof createMetrics>

/** Bounds in seconds for what takes from a fraction of a millisecond to many seconds. */
export const secondsBounds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

/** The metrics of all threads as those of one, in the text format 0.0.4 of Prometheus. */
export const figuresText = (all: readonly Figures[]): Promise<string> =>
  AggregatorRegistry.aggregate([...all]).metrics()

/** All metrics of a server. */
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

    /** A value that is read when a client asks. One that cannot be read is left out. */
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

    /** The same for a value that only grows. */
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
