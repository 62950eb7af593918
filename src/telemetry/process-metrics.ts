import { collectDefaultMetrics, Registry } from 'prom-client'

// Of the process there is one, however many servers run in it.
let registry: Registry | undefined

// The library tells these as gauges, which Prometheus does not want of the name; without `_total` they are there as well.
const misnamed = ['handles', 'requests', 'resources'].map((name) => `nodejs_active_${name}_total`)

/** What the runtime tells of itself: memory, processor time, delays of the event loop, collections of garbage. */
export const processMetricsText = async (): Promise<string> => {
  if (!registry) {
    registry = new Registry()
    collectDefaultMetrics({ register: registry })
    for (const name of misnamed) registry.removeSingleMetric(name)
  }
  // The library spells NaN as no parser but that of Prometheus reads it.
  return (await registry.metrics()).replace(/ Nan$/gm, ' NaN')
}
