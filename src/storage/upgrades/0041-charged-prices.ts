import type { Upgrade } from '../upgrades.ts'

/** What is removed gives back what it was charged, whatever the price is by then. */
export const chargedPrices: Upgrade = {
  number: 41,
  title: 'the prices at which items were charged',
  statements: () => ['ALTER TABLE charged_items ADD COLUMN prices TEXT'],
}
