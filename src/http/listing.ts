import { failure } from '../lib/failure.ts'
import type { Json } from '../lib/json.ts'
import type { Collection } from '../storage/collection.ts'
import type { ListRow, StoredRecord } from '../storage/records.ts'
import { compileFields, compileFilters, type FieldPicker, type Filter } from './filters.ts'

/** Where a row stands in its list: [sort key, id]. */
export type Cursor = readonly [string, string]

export interface PageRequest {
  after?: Cursor
  limit: number
  descending: boolean
  /** Part of a walk through many rows: to be read beside the event loop. */
  long: boolean
  /** Whole records are looked into, not only their rows shown. */
  whole: boolean
}

/** A list as an area offers it. */
export interface Listing<T> {
  page(request: PageRequest): Promise<T[]>
  cursor(item: T): Cursor
  /** JSON text of the row. */
  row(item: T): string
  /** The whole public record: what filters and `fields` look at. */
  record(item: T): Json
}

/** What the query asks of a list. */
export interface ListPlan {
  paginate: boolean
  pageSize: number
  startKey: string | undefined
  after: Cursor | undefined
  descending: boolean
  filter: Filter | undefined
  fields: FieldPicker | undefined
  fullDocs: boolean
}

export interface Page {
  rows: string[]
  nextStartKey: string | undefined
}

interface ListSettings {
  pagination_page_size: number
  allow_fetch_full_docs: boolean
}

// Rows read at once while walking: a few milliseconds of parsing, so that other requests get their turn.
const batchSize = 500
// A page that filters leave empty for this long is answered as it is, with the key to go on from.
const filterBudgetMs = 4000
// A larger page_size gets this many rows and the key of the rest: one answer must not hold a whole account in memory.
const largestPage = 10_000

const startKeyText = /^[A-Za-z0-9_-]+$/

export const encodeStartKey = (cursor: Cursor) => Buffer.from(JSON.stringify(cursor)).toString('base64url')

/** Undecodable keys mean the first page. */
const decodeStartKey = (text: string | undefined): Cursor | undefined => {
  if (!text || !startKeyText.test(text)) return undefined
  try {
    const value: unknown = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'))
    const isCursor =
      Array.isArray(value) && value.length === 2 && value.every((part) => typeof part === 'string')
    return isCursor && value.every((part) => !part.includes('\0') && part.isWellFormed())
      ? (value as unknown as Cursor)
      : undefined
  } catch {
    return undefined
  }
}

const pageSizeOf = (value: unknown, fallback: number) => {
  if (value === undefined || value === null) return fallback
  const size = Number(value)
  if (!Number.isInteger(size) || String(value).trim() === '') {
    throw failure('faulty_request', {
      message: 'page size must be a number',
      cause: String(value).slice(0, 100),
    })
  }
  if (size < 1) throw failure('faulty_request', { message: 'page size must be at least 1' })
  return size
}

const isTrue = (value: unknown) => value === true || value === 'true'
const isFalse = (value: unknown) => value === false || value === 'false'

const chunkSizeCheck = (value: unknown) => {
  if (value === undefined) return
  const size = Number(value)
  if (!Number.isInteger(size) || size < 1 || size > 50) {
    throw failure('faulty_request', { message: 'chunk size must be between 1 and 50' })
  }
}

/** Reads the paging, ordering and filtering parameters of reference 01 sections 1.7 and 1.8. */
export const planList = (
  query: URLSearchParams,
  value: (name: string) => unknown,
  settings: ListSettings,
): ListPlan => {
  chunkSizeCheck(value('chunk_size') ?? value('batch_size'))
  const startKey = value('start_key') ?? value('bookmark')
  const key = typeof startKey === 'string' && startKey !== '' ? startKey : undefined
  const descending = value('descending')
  return {
    paginate: !isFalse(value('paginate')),
    pageSize: Math.min(pageSizeOf(value('page_size'), settings.pagination_page_size), largestPage),
    startKey: key,
    after: decodeStartKey(key),
    descending: isTrue(descending) || !(isFalse(descending) || isTrue(value('ascending'))),
    filter: compileFilters(query),
    fields: compileFields(query),
    fullDocs: settings.allow_fetch_full_docs && isTrue(value('full_docs')),
  }
}

const render = <T>(listing: Listing<T>, plan: ListPlan, item: T) => {
  if (plan.fields) return JSON.stringify(plan.fields(listing.record(item)))
  return plan.fullDocs ? JSON.stringify(listing.record(item)) : listing.row(item)
}

const matches = <T>(listing: Listing<T>, plan: ListPlan, item: T) =>
  plan.filter === undefined || plan.filter(listing.record(item))

const requestAfter = (
  after: Cursor | undefined,
  limit: number,
  plan: ListPlan,
  long: boolean,
): PageRequest => ({
  ...(after ? { after } : {}),
  limit,
  descending: plan.descending,
  long,
  whole: plan.filter !== undefined || plan.fields !== undefined || plan.fullDocs,
})

/** One page: what matches, up to the page size, and the key of the next one if there is more. */
export const collectPage = async <T>(
  listing: Listing<T>,
  plan: ListPlan,
  now: () => number,
): Promise<Page> => {
  const rows: string[] = []
  const deadline = now() + filterBudgetMs
  let after = plan.after
  let last: Cursor | undefined
  for (;;) {
    const limit = plan.filter ? batchSize : Math.min(plan.pageSize - rows.length + 1, batchSize)
    const long = plan.filter !== undefined || plan.pageSize > batchSize
    const items = await listing.page(requestAfter(after, limit, plan, long))
    for (const item of items) {
      after = listing.cursor(item)
      if (!matches(listing, plan, item)) continue
      if (rows.length === plan.pageSize) return { rows, nextStartKey: last && encodeStartKey(last) }
      rows.push(render(listing, plan, item))
      last = after
    }
    if (items.length < limit) return { rows, nextStartKey: undefined }
    if (now() > deadline && after) return { rows, nextStartKey: encodeStartKey(after) }
  }
}

/** The whole list, batch by batch, for streaming. */
export async function* walk<T>(listing: Listing<T>, plan: ListPlan): AsyncGenerator<string[]> {
  let after = plan.after
  for (;;) {
    const items = await listing.page(requestAfter(after, batchSize, plan, true))
    const rows = items
      .filter((item) => matches(listing, plan, item))
      .map((item) => render(listing, plan, item))
    if (rows.length > 0) yield rows
    const final = items.at(-1)
    if (!final || items.length < batchSize) return
    after = listing.cursor(final)
  }
}

const recordJson = (record: StoredRecord<object, object>): Json => ({
  ...record.doc,
  id: record.id,
  created: record.created,
  modified: record.modified,
})

/** The list of one collection of an account, or of the part that one user owns. */
export const collectionListing = <Doc extends object, Hidden extends object>(
  collection: Collection<Doc, Hidden>,
  accountId: string,
  ownerId?: string,
): Listing<ListRow> => ({
  page: ({ whole, ...request }) => {
    const query = { ...request, accountId, ...(ownerId === undefined ? {} : { ownerId }) }
    return whole ? collection.page(query) : collection.rows(query)
  },
  cursor: (row) => [row.sortKey, row.id],
  row: (row) => row.rowText,
  // Only asked of what was read whole.
  record: (row) => recordJson(row as StoredRecord),
})

/** A list that is at hand and short: never paged out of the store. Its order is its own. */
export const shortListing = (rows: readonly Json[]): Listing<Json> => {
  const place = (index: number) => String(index).padStart(8, '0')
  const placed = rows.map((row, index) => ({ row, index }))
  const indexOf = new Map(placed.map(({ row, index }) => [row, index]))
  return {
    page: async ({ after, limit }) =>
      placed
        .filter(({ index }) => !after || place(index) > after[0])
        .slice(0, limit)
        .map(({ row }) => row),
    cursor: (row) => [place(indexOf.get(row) ?? 0), ''],
    row: (row) => JSON.stringify(row),
    record: (row) => row,
  }
}
