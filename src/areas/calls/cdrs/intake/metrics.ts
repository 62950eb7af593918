import type { Metrics } from '../../../../lib/metrics.ts'
import type { LegVerdict, Source } from './operations.ts'

const outcomeOf = (verdict: LegVerdict) => (typeof verdict === 'string' ? verdict : 'rejected')

/** Counts what became of records, by the way they came in. */
export const countVerdicts = (metrics: Metrics) => {
  const records = metrics.counter({
    name: 'crosspoint_call_records_total',
    help: 'Call records that came in, by what became of them.',
    labels: ['source', 'outcome'],
  })
  return (source: Source) => (verdict: LegVerdict) => records.labels(source, outcomeOf(verdict)).inc()
}

/** Counts records whose descriptive fields were repaired. */
export const countRepairs = (metrics: Metrics) => {
  const records = metrics.counter({
    name: 'crosspoint_call_records_repaired_total',
    help: 'Call records with a text, number or time that was repaired.',
    labels: ['source'],
  })
  return (source: Source) => records.labels(source).inc()
}
