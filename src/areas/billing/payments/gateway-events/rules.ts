/** `open`: the money is gone until it is decided. */
export type DisputeState = 'open' | 'won' | 'lost'

export const disputeStateOf = (status: string): DisputeState =>
  status === 'won' || status === 'lost' ? status : 'open'

/**
 * What a dispute does to the payer's balance, by what was known of it: 1 gives the money back, -1 takes it. Events come
 * in any order; what was decided stays so.
 */
export const balanceStep = (before: DisputeState | undefined, after: DisputeState): -1 | 0 | 1 => {
  if (before === undefined) return after === 'won' ? 0 : -1
  return before === 'open' && after === 'won' ? 1 : 0
}

export const isDecided = (state: DisputeState | undefined) => state === 'won' || state === 'lost'
