import type { NumberRecord, NumberStore } from './store.ts'

/**
 * Numbers as a batch of operations sees them: what is stored, with what the operations before have planned laid over
 * it. Made for each batch, and good only for what is committed together.
 */
export interface NumberView {
  /** By the normalised number. */
  get(number: string): Promise<NumberRecord | undefined>
  put(number: string, record: NumberRecord | undefined): void
  /** Whether the batch has already seen to it that the account stays; the first who asks has to. */
  holdsAccount(accountId: string): boolean
}

export const createNumberView = (
  store: NumberStore,
  known: Map<string, NumberRecord | undefined> = new Map(),
): NumberView => {
  const held = new Set<string>()
  return {
    async get(number) {
      if (!known.has(number)) known.set(number, await store.findAnywhere(number))
      return known.get(number)
    },
    put: (number, record) => void known.set(number, record),
    holdsAccount(accountId) {
      const holds = held.has(accountId)
      held.add(accountId)
      return holds
    },
  }
}
