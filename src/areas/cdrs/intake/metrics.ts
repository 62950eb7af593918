import type { Metrics } from '../../../lib/metrics.ts'
import type { LegVerdict } from './operations.ts'

const outcomeOf = (verdict: LegVerdict) => (typeof verdict === 'string' ? verdict : 'rejected')

/** Counts what became of records, by the way they came in. */
export const countVerdicts = (metrics: Metrics) => {
  const records = metrics.counter({
    name: 'crosspoint_call_records_total',
    help: 'Call records that came in, by what became of them.',
    labels: ['source', 'outcome'],
  })
  return (source: 'api' | 'freeswitch') => (verdict: LegVerdict) =>
    records.of(source, outcomeOf(verdict)).add()
}
