import { type Metrics, secondsBounds } from '../../../../lib/metrics.ts'

export type ArchiveMetrics = ReturnType<typeof createArchiveMetrics>

/** How the files of older call records are used. */
export const createArchiveMetrics = (metrics: Metrics) => {
  const durations = metrics.histogram({
    name: 'crosspoint_call_archive_read_duration_seconds',
    help: 'Seconds that reads of files of older call records took, by what came of them.',
    labels: ['outcome'],
    bounds: secondsBounds,
  })
  const bytes = metrics.counter({
    name: 'crosspoint_call_archive_read_bytes_total',
    help: 'Bytes that were read of files of older call records.',
  })
  const records = metrics.counter({
    name: 'crosspoint_call_archive_records_total',
    help: 'Call records that this process moved to files.',
  })
  const failures = metrics.counter({
    name: 'crosspoint_call_archive_failures_total',
    help: 'Months of call records that could not be archived, rewritten or removed when their turn came.',
  })
  const untold = metrics.counter({
    name: 'crosspoint_call_archive_records_untold_total',
    help: 'Call records that an event was told without, for their file could not be read.',
  })
  return {
    read(outcome: 'done' | 'failed', seconds: number, count: number) {
      durations.labels(outcome).observe(seconds)
      bytes.inc(count)
    },
    archived: (count: number) => records.inc(count),
    failed: () => failures.inc(),
    untold: (count: number) => untold.inc(count),
  }
}
