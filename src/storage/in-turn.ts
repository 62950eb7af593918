import { elementAt } from '../lib/list.ts'

/** One after the other, and again. */
export const inTurn = <T>(items: readonly T[]) => {
  let turn = 0
  return () => elementAt(items, turn++ % items.length)
}
