import { failure, faultyRequest, invalid, valueShown } from '../../lib/failure.ts'
import { isTrue, type Json } from '../../lib/json.ts'
import type { ListQuery } from '../../lib/question.ts'
import { maskUrls } from '../../lib/secrets.ts'
import type { Collection } from '../../storage/collection.ts'
import type { ListRow, StoredRecord } from '../../storage/records.ts'
import { compileFields, type FieldPicker, type Filter, filterOf, questionsOf } from './filters.ts'
import { inSlices } from './slices.ts'

export type Cursor = readonly [string, string]

export interface PageRequest {
  after?: Cursor
  limit: number
  descending: boolean
  /** Read in a thread: part of a walk through many rows. */
  long: boolean
  /** Whole records are read, not only their rows. */
  whole: boolean
}

/** Everything that the pages of a list depend on, so that they can be cached. What depends on the caller must be in `view`. */
export interface Sources {
  /** Accounts and kinds of records: a commit that changes one of them evicts the pages. */
  records: readonly (readonly [accountId: string, kind: string])[]
  /** Which part of the records is listed, and how. */
  view: readonly unknown[]
}

/** A batch of a list that examines more than it returns. */
interface Batch<T> {
  items: T[]
  /** Where the next batch starts; undefined at the end of the list. */
  next: Cursor | undefined
}

export interface Sheet<T> {
  header: string
  line(item: T): string
  /** The lines of the list after `after`, if the store can write them. The caller may release their buffers. */
  lines?(request: Pick<PageRequest, 'after' | 'descending'>): AsyncIterable<Uint8Array>
}

/** A list whose window ends now. `view` must not contain what changes with the clock. */
export interface MovingWindow<T> {
  from: number
  timeOf(item: T): number
  /** Whether no record is after its end. */
  isAtEnd(): Promise<boolean>
}

export interface Listing<T> {
  /** Fewer items than `limit` are the last ones, unless a batch has `next`. */
  page(request: PageRequest): Promise<T[] | Batch<T>>
  /** How many of the requested rows are at most `bytes` large; at least one. */
  fitting?(request: PageRequest, bytes: number): Promise<number>
  /** Bytes of an item, if they may be many: a page ends early after too many. */
  weight?(item: T): number
  cursor(item: T): Cursor
  row(item: T): string
  /** The whole public record, for filters and `fields`. */
  record(item: T): Json
  /** The object that `fields` selects from, if it is larger than the record. */
  pickable?(item: T): Json
  /** Applies some filters while it reads, and returns the others. */
  narrowed?(questions: readonly ListQuery[]): { listing: Listing<T>; left: readonly ListQuery[] }
  sheet?: Sheet<T>
  /** The row for CSV, if its columns have other names. */
  flat?(item: T): Json
  /** The rows are members of an object: its JSON around them, and the key of each. */
  keyed?: { open: string; close: string; key(item: T): string }
  startKeys?: StartKeys
  /** An unknown start key is a 400. Otherwise the first page is returned, as in Kazoo. */
  refusesForeignKeys?: true
  /** Without it pages are not cached. */
  sources?: Sources
  moving?: MovingWindow<T>
  /** Metadata of the envelope, read after the rows. */
  metadata?(): Record<string, unknown>
}

/** Start keys that clients can write themselves. Others are opaque. */
export interface StartKeys {
  /** The cursor before the named item; undefined if there is none. */
  read(key: string, descending: boolean): Cursor | undefined
  write(first: Cursor): string
}

export interface PlainListing<T> extends Listing<T> {
  page(request: PageRequest): Promise<T[]>
}

export interface ListPlan {
  paginate: boolean
  pageSize: number
  startKey: string | undefined
  after: Cursor | undefined
  descending: boolean
  questions: readonly ListQuery[]
  filter: Filter | undefined
  fields: FieldPicker | undefined
  fullDocs: boolean
  /** For CSV that is made from whole records. */
  needsWhole?: boolean
}

export interface PageEnd {
  size: number
  nextStartKey: string | undefined
  /** For a moving window: the time of the earliest item. */
  earliest?: number
}

type InTurn = <R>(work: () => Promise<R>) => Promise<R>

interface ListSettings {
  pagination_page_size: number
  allow_fetch_full_docs: boolean
  allowed_modules_fetch_full_docs: Readonly<Record<string, unknown>>
}

// A few milliseconds of parsing, so that other requests are not delayed.
const batchSize = 500
// If filters leave a page empty for this long, it is returned with its next start key.
const filterBudgetMs = 4000
// A larger page_size is reduced: one response must not contain a whole account.
const largestPage = 10_000

const startKeyText = /^[A-Za-z0-9_-]+$/

const encodeStartKey = (cursor: Cursor) => Buffer.from(JSON.stringify(cursor)).toString('base64url')

const isStorableText = (value: unknown): value is string =>
  typeof value === 'string' && !value.includes('\0') && value.isWellFormed()

const decodeStartKey = (text: string | undefined): Cursor | undefined => {
  if (!text || !startKeyText.test(text)) return undefined
  try {
    const value: unknown = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'))
    if (!Array.isArray(value) || value.length !== 2) return undefined
    const [sortKey, id]: unknown[] = value
    return isStorableText(sortKey) && isStorableText(id) ? [sortKey, id] : undefined
  } catch {
    return undefined
  }
}

/** An object is not converted: its text is the sender's choice. */
const wholeNumberIn = (value: unknown) => {
  if (typeof value !== 'number' && (typeof value !== 'string' || value.trim() === '')) return undefined
  const number = Number(value)
  return Number.isInteger(number) ? number : undefined
}

const pageSizeOf = (value: unknown, fallback: number) => {
  if (value === undefined || value === null) return fallback
  const size = wholeNumberIn(value)
  if (size === undefined) {
    throw failure(faultyRequest, { message: 'page size must be a number', cause: valueShown(value).value })
  }
  if (size < 1) throw failure(faultyRequest, { message: 'page size must be at least 1' })
  return size
}

const isFalse = (value: unknown) => value === false || value === 'false'

const chunkSizeCheck = (value: unknown) => {
  if (value === undefined) return
  const size = wholeNumberIn(value)
  if (size === undefined || size < 1 || size > 50) {
    throw failure(faultyRequest, { message: 'chunk size must be between 1 and 50' })
  }
}

const mayBeFull = (settings: ListSettings, module: string | undefined) =>
  settings.allow_fetch_full_docs ||
  (module !== undefined && settings.allowed_modules_fetch_full_docs[module] === true)

export const planList = (
  query: URLSearchParams,
  value: (name: string) => unknown,
  settings: ListSettings,
  module: string | undefined,
): ListPlan => {
  chunkSizeCheck(value('chunk_size') ?? value('batch_size'))
  const paginate = !isFalse(value('paginate'))
  const asked = Math.min(pageSizeOf(value('page_size'), settings.pagination_page_size), largestPage)
  const startKey = value('start_key') ?? value('bookmark')
  const key = typeof startKey === 'string' && startKey !== '' ? startKey : undefined
  const descending = value('descending')
  const questions = questionsOf(query)
  return {
    paginate,
    pageSize: paginate ? asked : Number.POSITIVE_INFINITY,
    startKey: key,
    after: decodeStartKey(key),
    descending: isTrue(descending) || !(isFalse(descending) || isTrue(value('ascending'))),
    questions,
    filter: filterOf(questions),
    fields: compileFields(query),
    fullDocs: isTrue(value('full_docs')) && mayBeFull(settings, module),
  }
}

export const badStartKey = (key: string | undefined) =>
  invalid({
    start_key: {
      invalid: { message: 'Must be the next_start_key of the previous page', ...valueShown(key) },
    },
  })

/** The list and the plan after the list has taken the filters that it applies itself. */
export const narrow = <T>(listing: Listing<T>, plan: ListPlan): [Listing<T>, ListPlan] => {
  if (listing.refusesForeignKeys && plan.startKey !== undefined && !plan.after)
    throw badStartKey(plan.startKey)
  if (!listing.narrowed || plan.questions.length === 0) return [listing, plan]
  const { listing: narrowed, left } = listing.narrowed(plan.questions)
  return [narrowed, { ...plan, questions: left, filter: filterOf(left) }]
}

export type Render<T> = (item: T) => string

const jsonRow = <T>(listing: Listing<T>, plan: ListPlan): Render<T> => {
  const { fields, fullDocs } = plan
  if (fields) return (item) => maskUrls(JSON.stringify(fields((listing.pickable ?? listing.record)(item))))
  // Only stored rows are masked already.
  return (item) => maskUrls(fullDocs ? JSON.stringify(listing.record(item)) : listing.row(item))
}

export const showsRows = ({ fields, fullDocs }: ListPlan) => !fields && !fullDocs

export const jsonMember = <T>(listing: Listing<T>, plan: ListPlan): Render<T> => {
  const row = jsonRow(listing, plan)
  const { keyed } = listing
  return keyed ? (item) => `${JSON.stringify(keyed.key(item))}:${row(item)}` : row
}

export const flatRow = <T>(listing: Listing<T>, plan: ListPlan): Render<T> => {
  const { flat } = listing
  if (flat && !plan.fields) return (item) => maskUrls(JSON.stringify(flat(item)))
  const row = jsonRow(listing, plan)
  const { keyed } = listing
  return keyed ? (item) => `{"id":${JSON.stringify(keyed.key(item))},${row(item).slice(1)}` : row
}

export const bracketsOf = <T>({ keyed }: Listing<T>): readonly [string, string] =>
  keyed ? [keyed.open, keyed.close] : ['[', ']']

const firstAfter = <T>({ startKeys }: Listing<T>, { after, startKey, descending }: ListPlan) =>
  after ?? (startKey === undefined ? undefined : startKeys?.read(startKey, descending))

const maxWholeBytes = 4_000_000

// Rendering such an item may take milliseconds.
const heavyBytes = 20_000

const isHeavyIn =
  <T>({ weight }: Listing<T>) =>
  (item: T) =>
    weight !== undefined && weight(item) > heavyBytes

const sized = async <T>(listing: Listing<T>, request: PageRequest): Promise<PageRequest> => {
  if (!listing.fitting || !(request.whole || request.long)) return request
  return { ...request, limit: Math.min(request.limit, await listing.fitting(request, maxWholeBytes)) }
}

const readBatch = async <T>(listing: Listing<T>, asked: PageRequest): Promise<Batch<T>> => {
  const request = await sized(listing, asked)
  const found = await listing.page(request)
  if (!Array.isArray(found)) return found
  const final = found.at(-1)
  return { items: found, next: final && found.length === request.limit ? listing.cursor(final) : undefined }
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
  whole: plan.filter !== undefined || !showsRows(plan) || plan.needsWhole === true,
})

export const isLong = ({ filter, pageSize }: ListPlan) => filter !== undefined || pageSize >= batchSize

const batchBytes = 300_000
const leastAtOnce = 20
const growth = 4

/** A few times as many rows as before, up to `batchBytes`. */
const nextBatchSize = (limit: number, rows: readonly string[]) => {
  if (rows.length === 0) return limit
  const bytes = rows.reduce((sum, row) => sum + row.length, 0)
  const fitting = Math.floor((batchBytes * rows.length) / bytes)
  return Math.max(leastAtOnce, Math.min(growth * limit, fitting, batchSize))
}

const firstBatchSize = 100

/** The matching rows of a page or a whole list in batches, and how the page ended. */
export async function* listRows<T>(
  listing: Listing<T>,
  plan: ListPlan,
  render: Render<T>,
  { now, inTurn }: { now: () => number; inTurn: InTurn },
): AsyncGenerator<string[], PageEnd> {
  const long = isLong(plan)
  let after = firstAfter(listing, plan)
  let spent = 0
  let size = 0
  let weight = 0
  let last: T | undefined
  let surplus: T | undefined
  const { moving } = listing
  const isHeavy = isHeavyIn(listing)
  const seen = { earliest: Number.POSITIVE_INFINITY }
  let atOnce = plan.filter ? batchSize : firstBatchSize

  const room = () => (plan.paginate && weight > maxWholeBytes ? 0 : plan.pageSize - size)

  const take = (item: T) => {
    if (moving) seen.earliest = Math.min(seen.earliest, moving.timeOf(item))
    if (surplus !== undefined || !matches(listing, plan, item)) return undefined
    if (room() === 0) {
      surplus = item
      return undefined
    }
    size += 1
    weight += listing.weight?.(item) ?? 0
    last = item
    return render(item)
  }

  for (;;) {
    const limit = plan.filter ? atOnce : Math.min(room() + 1, long ? atOnce : batchSize)
    const request = requestAfter(after, limit, plan, long)
    const begun = now()
    const { rows, next } = await inTurn(async () => {
      const batch = await readBatch(listing, request)
      return { rows: await inSlices(batch.items, take, isHeavy), next: batch.next }
    })
    spent += now() - begun
    if (rows.length > 0) yield rows
    if (surplus !== undefined) {
      const ownKey = listing.startKeys?.write(listing.cursor(surplus))
      return {
        ...seen,
        size,
        nextStartKey: ownKey ?? (last === undefined ? undefined : encodeStartKey(listing.cursor(last))),
      }
    }
    if (!next) return { ...seen, size, nextStartKey: undefined }
    after = next
    atOnce = nextBatchSize(atOnce, rows)
    if (plan.paginate && spent > filterBudgetMs) return { ...seen, size, nextStartKey: encodeStartKey(after) }
  }
}

const recordJson = (record: StoredRecord<object, object>): Json => ({
  ...record.doc,
  id: record.id,
  created: record.created,
  modified: record.modified,
})

export const collectionListing = <Doc extends object, Hidden extends object>(
  collection: Pick<Collection<Doc, Hidden>, 'page' | 'rows' | 'fitting'>,
  accountId: string,
  ownerId?: string,
): PlainListing<ListRow> => {
  const owner = ownerId === undefined ? {} : { ownerId }
  return {
    page: ({ whole, ...request }) => {
      const query = { ...request, accountId, ...owner }
      return whole ? collection.page(query) : collection.rows(query)
    },
    fitting: async ({ whole, ...request }, bytes) =>
      whole ? collection.fitting({ ...request, accountId, ...owner }, bytes) : request.limit,
    cursor: (row) => [row.sortKey, row.id],
    row: (row) => row.rowText,
    // Only called for rows that were read whole.
    record: (row) => recordJson(row as StoredRecord),
  }
}

/** The same for lists that look alike for all who may read them: their pages are cached. */
export const cachedListing = <Doc extends object, Hidden extends object>(
  collection: Pick<Collection<Doc, Hidden>, 'kind' | 'page' | 'rows' | 'fitting'>,
  accountId: string,
  ownerId?: string,
): PlainListing<ListRow> => ({
  ...collectionListing(collection, accountId, ownerId),
  sources: { records: [[accountId, collection.kind]], view: [ownerId] },
})

/** A short list in memory, in its own order. */
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
