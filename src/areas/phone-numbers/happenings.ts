import type { NumberRecord } from './store.ts'

// What happens to a number in the eyes of those who do business with it.

/** Whether its owner has it for good: neither on its way from another carrier, nor ordered and not confirmed. */
const isHeld = ({ accountId, state, hidden }: NumberRecord) =>
  accountId !== '' && (state === 'in_service' || state === 'reserved') && hidden.pendingOrder === undefined

/** Whether a number was to come from another carrier, and has. */
export const isPorted = (before: NumberRecord, after: NumberRecord) =>
  before.state === 'port_in' && after.state === 'in_service' && after.accountId !== ''

/** Whether its owner has the number from now on. */
export const isBought = (before: NumberRecord | undefined, after: NumberRecord) => {
  if (!isHeld(after) || (before && isPorted(before, after))) return false
  if (!before || before.accountId === '') return true
  // What is reserved again for who had it before was not bought.
  return before.accountId === after.accountId ? !isHeld(before) : after.state !== 'reserved'
}

/** Whether its owner, who is about to lose it, has ever had it. */
export const isReleased = ({ accountId, hidden }: NumberRecord) =>
  accountId !== '' && hidden.pendingOrder === undefined
