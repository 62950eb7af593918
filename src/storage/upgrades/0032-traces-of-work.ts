import type { Upgrade } from '../upgrades.ts'

/** What waits knows which request has left it, as traces tell. */
export const tracesOfWork: Upgrade = {
  number: 32,
  title: 'the traces of what waits',
  // A `traceparent` (W3C Trace Context). What was left by an earlier version, or by no request, has none.
  statements: () => ['ALTER TABLE work ADD COLUMN trace TEXT'],
}
