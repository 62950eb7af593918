import { failure, faultyRequest, invalid, valueShown } from '../../lib/failure.ts'
import { isTrue, type Json } from '../../lib/json.ts'
import type { ListQuery } from '../../lib/question.ts'
import { maskUrls } from '../../lib/secrets.ts'
import type { Collection } from '../../storage/collection.ts'
import type { ListRow, StoredRecord } from '../../storage/records.ts'
import { compileFields, type FieldPicker, type Filter, filterOf, questionsOf } from './filters.ts'
import { inSlices } from './slices.ts'

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

/**
 * What the pages of a list follow from, and nothing else: then they can be kept. Whoever asks, and what they may see,
 * is in none of the records, so it has to be part of `view`.
 */
export interface Sources {
  /** Records of these accounts and kinds: a commit that names one of them stale ends what was kept. */
  records: readonly (readonly [accountId: string, kind: string])[]
  /** Everything else: which part of them is listed, and how its rows are shown. */
  view: readonly unknown[]
}

/** What a list gives that looks through more than it shows. */
interface Batch<T> {
  items: T[]
  /** Behind what it goes on; undefined at the end of the list. */
  next: Cursor | undefined
}

/** CSV of a list whose columns are known beforehand. */
export interface Sheet<T> {
  header: string
  line(item: T): string
  /**
   * The lines of the whole list, or of what is behind `after`, where the store makes them by itself. Buffers are given
   * up to whoever sends them.
   */
  lines?(request: Pick<PageRequest, 'after' | 'descending'>): AsyncIterable<Uint8Array>
}

/** A list whose window ends now. `view` of its sources does not tell what moves with the clock. */
export interface MovingWindow<T> {
  /** Its start at the moment. */
  from: number
  timeOf(item: T): number
  /** Whether nothing lies behind its end, so that nothing comes into the list because time goes by. */
  isAtEnd(): Promise<boolean>
}

/** A list as an area offers it. */
export interface Listing<T> {
  /** Fewer items than `limit` are the last ones, unless a batch says where to go on. */
  page(request: PageRequest): Promise<T[] | Batch<T>>
  /** How many of the rows that are asked for may be read whole at once, where they can be of any size. */
  fitting?(request: PageRequest, bytes: number): Promise<number>
  /** Bytes that an item is made of, where these may be many: a page ends early behind so many of them. */
  weight?(item: T): number
  cursor(item: T): Cursor
  /** JSON text of the row. */
  row(item: T): string
  /** The whole public record: what filters and `fields` look at. */
  record(item: T): Json
  /** What `fields` picks from, where that is more than the record. */
  pickable?(item: T): Json
  /** Takes over filters that it can apply while it reads, and gives back the others. */
  narrowed?(questions: readonly ListQuery[]): { listing: Listing<T>; left: readonly ListQuery[] }
  sheet?: Sheet<T>
  /** The row for CSV, where its columns have other names than in JSON. */
  flat?(item: T): Json
  /** Rows stand under keys of an object: the JSON around them, and the key of each. */
  keyed?: { open: string; close: string; key(item: T): string }
  startKeys?: StartKeys
  /** Whether a start key that the list did not return is a 400. Else the page is the first one, as in Kazoo. */
  refusesForeignKeys?: true
  /** Absent: pages are made anew each time. */
  sources?: Sources
  moving?: MovingWindow<T>
  /** What the envelope tells of the rows beside them: asked when they are read. */
  metadata?(): Record<string, unknown>
}

/** Start keys that clients can write by themselves: the page begins with what they name. Else keys are opaque. */
export interface StartKeys {
  /** The place just before what the key names; undefined when it names nothing. */
  read(key: string, descending: boolean): Cursor | undefined
  /** The key of the item with which a page begins. */
  write(first: Cursor): string
}

/** A list that shows all it reads. */
export interface PlainListing<T> extends Listing<T> {
  page(request: PageRequest): Promise<T[]>
}

/** What the query asks of a list. */
export interface ListPlan {
  paginate: boolean
  /** Infinite for a whole list. */
  pageSize: number
  startKey: string | undefined
  after: Cursor | undefined
  descending: boolean
  questions: readonly ListQuery[]
  filter: Filter | undefined
  fields: FieldPicker | undefined
  fullDocs: boolean
  /** Whole records are needed whatever is asked for: for CSV that is made of them. */
  needsWhole?: boolean
}

/** How a page ended. */
export interface PageEnd {
  size: number
  nextStartKey: string | undefined
  /** Of a list whose window moves: the time of the earliest item that was looked at. */
  earliest?: number
}

/** Has a part of the work done when it is the turn of whoever asks. */
type InTurn = <R>(work: () => Promise<R>) => Promise<R>

interface ListSettings {
  pagination_page_size: number
  allow_fetch_full_docs: boolean
  allowed_modules_fetch_full_docs: Readonly<Record<string, unknown>>
}

// Rows read at once while walking: a few milliseconds of parsing, so that other requests get their turn.
const batchSize = 500
// A page that filters leave empty for this long is answered as it is, with the key to go on from.
const filterBudgetMs = 4000
// A larger page_size gets this many rows and the key of the rest: one answer must not hold a whole account in memory.
const largestPage = 10_000

const startKeyText = /^[A-Za-z0-9_-]+$/

const encodeStartKey = (cursor: Cursor) => Buffer.from(JSON.stringify(cursor)).toString('base64url')

const isStorableText = (value: unknown): value is string =>
  typeof value === 'string' && !value.includes('\0') && value.isWellFormed()

/** Undecodable keys mean the first page. */
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

/** A whole number, also as text. Of an object not even its text is asked for: that is the sender's, too. */
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

/** Reads the paging, ordering and filtering parameters of a list. */
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
      invalid: { message: 'Must be the next_start_key of the page before', ...valueShown(key) },
    },
  })

/** The list and the plan after the list has taken over the filters that it can apply by itself. */
export const narrow = <T>(listing: Listing<T>, plan: ListPlan): [Listing<T>, ListPlan] => {
  if (listing.refusesForeignKeys && plan.startKey !== undefined && !plan.after)
    throw badStartKey(plan.startKey)
  if (!listing.narrowed || plan.questions.length === 0) return [listing, plan]
  const { listing: narrowed, left } = listing.narrowed(plan.questions)
  return [narrowed, { ...plan, questions: left, filter: filterOf(left) }]
}

/** The text of a row. */
export type Render<T> = (item: T) => string

/** A row as JSON, with masks for the passwords in its URLs. */
const jsonRow = <T>(listing: Listing<T>, plan: ListPlan): Render<T> => {
  const { fields, fullDocs } = plan
  if (fields) return (item) => maskUrls(JSON.stringify(fields((listing.pickable ?? listing.record)(item))))
  // Only stored rows have masks already.
  return (item) => maskUrls(fullDocs ? JSON.stringify(listing.record(item)) : listing.row(item))
}

/** Whether rows are shown as the list has them. */
export const showsRows = ({ fields, fullDocs }: ListPlan) => !fields && !fullDocs

/** A row as it stands in the list: with its key in front where rows have keys. */
export const jsonMember = <T>(listing: Listing<T>, plan: ListPlan): Render<T> => {
  const row = jsonRow(listing, plan)
  const { keyed } = listing
  return keyed ? (item) => `${JSON.stringify(keyed.key(item))}:${row(item)}` : row
}

/** A row as an object by itself, for CSV: its key becomes its id. */
export const flatRow = <T>(listing: Listing<T>, plan: ListPlan): Render<T> => {
  const { flat } = listing
  if (flat && !plan.fields) return (item) => maskUrls(JSON.stringify(flat(item)))
  const row = jsonRow(listing, plan)
  const { keyed } = listing
  return keyed ? (item) => `{"id":${JSON.stringify(keyed.key(item))},${row(item).slice(1)}` : row
}

/** The JSON around the rows. */
export const bracketsOf = <T>({ keyed }: Listing<T>): readonly [string, string] =>
  keyed ? [keyed.open, keyed.close] : ['[', ']']

const firstAfter = <T>({ startKeys }: Listing<T>, { after, startKey, descending }: ListPlan) =>
  after ?? (startKey === undefined ? undefined : startKeys?.read(startKey, descending))

// Whole records at once, of which each may be as large as a record can be.
const maxWholeBytes = 4_000_000

// An item of so many bytes may take milliseconds.
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

/** Whether a list is more than one short read. */
export const isLong = ({ filter, pageSize }: ListPlan) => filter !== undefined || pageSize >= batchSize

// Texts of so many bytes are read at once, as far as the rows before tell.
const batchBytes = 300_000
const leastAtOnce = 20
const growth = 4

/** How many rows to read next: a few times as many as before, but no more than weigh too much. */
const nextBatchSize = (limit: number, rows: readonly string[]) => {
  if (rows.length === 0) return limit
  const bytes = rows.reduce((sum, row) => sum + row.length, 0)
  const fitting = Math.floor((batchBytes * rows.length) / bytes)
  return Math.max(leastAtOnce, Math.min(growth * limit, fitting, batchSize))
}

const firstBatchSize = 100

/** The rows of a page or a whole list, batch by batch: what matches, up to the page size, and the key of the next page. */
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

/** The list of one collection of an account, or of the part that one user owns. */
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
    // Only asked of what was read whole.
    record: (row) => recordJson(row as StoredRecord),
  }
}

/**
 * The same for lists of which everybody who may see them sees the rows that are stored, and nothing else: their pages are
 * kept.
 */
export const cachedListing = <Doc extends object, Hidden extends object>(
  collection: Pick<Collection<Doc, Hidden>, 'kind' | 'page' | 'rows' | 'fitting'>,
  accountId: string,
  ownerId?: string,
): PlainListing<ListRow> => ({
  ...collectionListing(collection, accountId, ownerId),
  sources: { records: [[accountId, collection.kind]], view: [ownerId] },
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
