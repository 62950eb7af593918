import type { Upgrade } from '../upgrades.ts'

/** Counts that are set by hand are a part of the summary of days. */
export const manualDays: Upgrade = {
  number: 43,
  title: 'counts set by hand, by day',
  statements: () => ['ALTER TABLE quantity_days ADD COLUMN manual BIGINT'],
}
