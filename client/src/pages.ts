import { isObject } from './envelope.ts'
import type { Envelope } from './errors.ts'
import type { Query, Requests } from './request.ts'

/** One page of a list, and the key of the next one. */
export type Page<Data = unknown> = Pick<Envelope<Data>, 'data' | 'next_start_key'>

/** Reads the page that begins at a key; the first one without. */
export type ReadPage<P extends Page> = (startKey: string | undefined) => Promise<P>

/** Page after page. A key that leads back to the same page ends the list instead of going round. */
export async function* pagesBy<P extends Page>(read: ReadPage<P>): AsyncGenerator<P, void, undefined> {
  let startKey: string | undefined
  do {
    const page = await read(startKey)
    yield page
    const next = page.next_start_key
    if (next === undefined || next === startKey) return
    startKey = next
  } while (true)
}

/** The rows of a page: an array, or the values of an object by ID, as for numbers. */
export const rowsOf = (data: unknown): unknown[] => {
  if (Array.isArray(data)) return data
  const keyed = isObject(data) && isObject(data.numbers) ? data.numbers : undefined
  if (keyed) return Object.entries(keyed).map(([id, row]) => (isObject(row) ? { id, ...row } : row))
  throw new TypeError('the answer is no list')
}

export const createPages = ({ request }: Requests) => {
  const pagesOf = <Row = unknown>(path: string, query: Query = {}, signal?: AbortSignal) =>
    pagesBy(async (start_key) => {
      const asked = start_key === undefined ? query : { ...query, start_key }
      return (await request<Row[]>({ path, query: asked, signal })).envelope
    })

  return {
    /** The pages of a list at a path. */
    pagesOf,

    /** The rows of a list at a path, over all of its pages. */
    async *eachOf<Row = Record<string, unknown>>(path: string, query: Query = {}, signal?: AbortSignal) {
      // The caller knows the row type of the path.
      for await (const { data } of pagesOf(path, query, signal)) yield* rowsOf(data) as Row[]
    },
  }
}
