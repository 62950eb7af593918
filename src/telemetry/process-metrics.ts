import { collectDefaultMetrics, Registry } from 'prom-client'

// One for the process, also with several servers.
let registry: Registry | undefined

// Gauges must not end in `_total`. The same values exist under other names.
const misnamed = ['handles', 'requests', 'resources'].map((name) => `nodejs_active_${name}_total`)

/** Memory, processor time, event loop and garbage collection. */
export const processMetricsText = async (): Promise<string> => {
  if (!registry) {
    registry = new Registry()
    collectDefaultMetrics({ register: registry })
    for (const name of misnamed) registry.removeSingleMetric(name)
  }
  // Only Prometheus parses the library's spelling.
  return (await registry.metrics()).replace(/ Nan$/gm, ' NaN')
}
