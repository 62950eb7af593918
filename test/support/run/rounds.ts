/** Counts the rounds of the event loop until told to stop. */
export const countRounds = () => {
  let rounds = 0
  let isOver = false
  const count = () => {
    rounds += 1
    if (!isOver) setImmediate(count)
  }
  setImmediate(count)
  return () => {
    isOver = true
    return rounds
  }
}
