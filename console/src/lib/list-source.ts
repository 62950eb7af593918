import type { Operation, OptionsOf, RowOf } from '@crosspoint/client'
import { api, crosspoint } from './api.ts'
import type { Page } from './pages.ts'

/** What the list on the screen adds to the query. */
interface PageQuery {
  start_key?: string
  descending?: boolean
}

/** A list of the API: page by page, and whole as CSV. */
export interface ListSource<Row> {
  page(query: PageQuery, signal: AbortSignal): Promise<Page<Row>>
  csv?(query: PageQuery, signal: AbortSignal): Promise<ReadableStream<Uint8Array>>
}

/** The list of a generated function: `listOf(listDevices, { path, query: { with_status: 'true' } })`. */
export const listOf = <F extends Operation>(list: F, options: OptionsOf<F>): ListSource<RowOf<F>> => {
  const withQuery = (query: PageQuery) => ({
    ...options,
    query: { ...('query' in options && typeof options.query === 'object' ? options.query : {}), ...query },
  })
  return {
    page: (query, signal) =>
      list({ ...api, ...withQuery(query), signal } as never) as Promise<Page<RowOf<F>>>,
    csv: (query, signal) => crosspoint.csv(list, { ...withQuery(query), signal } as never).bytes(),
  }
}

/**
 * The rows of a list that contain a text, for lists without a search of the server. A file contains all rows,
 * so a filtered list has none.
 */
export const filtered = <Row>(
  list: ListSource<Row>,
  text: string,
  textsOf: (row: Row) => readonly string[],
): ListSource<Row> => {
  if (text === '') return list
  const wanted = text.toLowerCase()
  const isFound = (row: Row) => textsOf(row).some((one) => one.toLowerCase().includes(wanted))
  return {
    page: async (query, signal) => {
      const page = await list.page(query, signal)
      return { ...page, data: page.data?.filter(isFound) }
    },
  }
}
