/** One after the other, and again. */
export const inTurn = <T>(items: readonly T[]) => {
  let turn = 0
  return () => items[turn++ % items.length] as T
}
