/** A negative index counts from the end. Throws if there is no element. */
export const elementAt = <T>(list: readonly T[], index: number): T => {
  const element = list.at(index)
  if (element === undefined) throw new RangeError(`a list of ${list.length} has nothing at ${index}`)
  return element
}

/** Both must have the same length. */
export function* zip<A, B>(left: Iterable<A>, right: Iterable<B>): Generator<[A, B]> {
  const others = right[Symbol.iterator]()
  for (const one of left) {
    const other = others.next()
    if (other.done) throw new RangeError('the second of two lists is shorter than the first')
    yield [one, other.value]
  }
}

/** One after the other, and again. */
export const inTurn = <T>(items: readonly T[]) => {
  let turn = 0
  return () => elementAt(items, turn++ % items.length)
}

/** Pages along a key, until one is not full. `read` gets the last item of the page before. */
export async function* pagesOf<T>(
  size: number,
  read: (last: T | undefined) => Promise<T[]>,
): AsyncGenerator<T[]> {
  let last: T | undefined
  for (;;) {
    const page = await read(last)
    if (page.length > 0) yield page
    if (page.length < size) return
    last = page.at(-1)
  }
}

/** Parts of at most `most` items, or whose weights add up to at most `most`, or of one heavier item. */
export const inParts = <T>(
  items: readonly T[],
  most: number,
  weightOf: (item: T) => number = () => 1,
): T[][] => {
  const parts: T[][] = []
  let weight = Number.POSITIVE_INFINITY
  for (const item of items) {
    if (weight + weightOf(item) > most) {
      parts.push([])
      weight = 0
    }
    parts.at(-1)?.push(item)
    weight += weightOf(item)
  }
  return parts
}
