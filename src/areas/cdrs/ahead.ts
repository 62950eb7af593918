/** The results for the items, in their order. Up to `depth` of them are in the making while one is being used. */
export async function* workAhead<Item, Result>(
  items: AsyncIterable<Item>,
  depth: number,
  work: (item: Item) => Promise<Result>,
): AsyncGenerator<Result> {
  const begun: Promise<Result>[] = []
  for await (const item of items) {
    const result = work(item)
    // Whoever takes the results may stop before this one.
    result.catch(() => undefined)
    begun.push(result)
    const [oldest] = begun
    if (oldest && begun.length > depth) {
      begun.shift()
      yield await oldest
    }
  }
  for (const result of begun) yield await result
}
