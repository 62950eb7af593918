import { type Metrics, secondsBounds } from '../lib/metrics.ts'
import type { Database } from './db.ts'
import type { Store } from './store.ts'

/** Tells of the store how much waits to be written, how fast it is, and how often a record was at hand. */
export const measureStore = (metrics: Metrics, db: Database, store: Store) => {
  metrics.gauge(
    {
      name: 'crosspoint_store_writes_waiting',
      help: 'Writes that wait for a lane.',
      isOfThread: true,
    },
    () => db.writeLoad().waiting,
  )
  metrics.gauge(
    { name: 'crosspoint_store_lanes', help: 'Connections or threads that write.' },
    () => db.writeLoad().lanes,
  )
  metrics.gauge(
    { name: 'crosspoint_store_lanes_busy', help: 'Those of them that are at work.' },
    () => db.writeLoad().busyLanes,
  )
  const sizes = metrics.histogram({
    name: 'crosspoint_store_batch_writes',
    help: 'Writes that a thread handed on together, for one durable commit.',
    bounds: [1, 2, 4, 8, 16, 32, 64],
  })
  const seconds = metrics.histogram({
    name: 'crosspoint_store_commit_duration_seconds',
    help: 'Seconds from the moment a batch of writes was handed on until it was durable.',
    bounds: secondsBounds,
  })
  db.onBatch((batch) => {
    sizes.observe(batch.writes)
    seconds.observe(batch.seconds)
  })
  metrics.counted(
    {
      name: 'crosspoint_store_cache_lookups_total',
      help: 'Records looked up by their id, by whether they were at hand.',
      labels: ['result'],
    },
    () => {
      const { hits, misses } = store.records.lookups()
      return [
        { labels: ['hit'], value: hits },
        { labels: ['miss'], value: misses },
      ]
    },
  )
  metrics.counted(
    {
      name: 'crosspoint_store_outages_total',
      help: 'Writes that failed because the store had no room, or was not there.',
    },
    () => [{ labels: [], value: store.outages() }],
  )
}
