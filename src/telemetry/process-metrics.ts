import { collectDefaultMetrics, Registry } from 'prom-client'

// Of the process there is one, however many servers run in it.
let registry: Registry | undefined

/** What the runtime tells of itself: memory, processor time, delays of the event loop, collections of garbage. */
export const processMetricsText = (): Promise<string> => {
  if (!registry) {
    registry = new Registry()
    collectDefaultMetrics({ register: registry })
  }
  return registry.metrics()
}
