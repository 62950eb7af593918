import { columnsOf, csvLine, flattenRow } from '../../lib/csv.ts'
import { failure, faultyRequest } from '../../lib/failure.ts'
import { bareFileName } from '../../lib/file-name.ts'
import { giveBack } from '../../storage/csv-lines.ts'
import type { RequestContext } from '../exchange.ts'
import { attachment, headerText } from '../transport/media.ts'
import {
  flatRow,
  isLong,
  type Listing,
  type ListPlan,
  type PageEnd,
  type Render,
  type Sheet,
} from './listing.ts'
import { FileResponse, harmless } from './responses.ts'
import { lengthOf, rowStreamBytes, rowsInTurn } from './row-bytes.ts'
import { claimRoom, type Headers, type Pieces, send, sendStreamed, withRoom } from './sending.ts'
import { inSlices } from './slices.ts'

// Reserved for a stream of parts, of which the next are made ahead.
const sheetStreamBytes = 6_000_000

const csvFileName = (exchange: RequestContext) => {
  const named = exchange.header('x-file-name')
  const asked = named === undefined ? exchange.value('file_name') : headerText(named)
  return (typeof asked === 'string' && bareFileName(asked)) || 'result.csv'
}

const csvHeaders = (exchange: RequestContext): Headers => ({
  ...harmless,
  'content-type': 'text/csv',
  ...attachment(csvFileName(exchange)),
})

/** A file of a few rows. Keys of nested objects are joined with `_`. */
export const csvFile = (records: readonly object[], name: string) => {
  const rows = records.map((record) => flattenRow({ ...record }))
  const columns = columnsOf(rows)
  const lines = [columns, ...rows.map((row) => columns.map((column) => row.get(column)))]
  return new FileResponse(Buffer.from(lines.map(csvLine).join('')), 'text/csv', attachment(name))
}

/** A row that is not an object, such as a name, is in the column of ids. */
const csvRow = (row: string) => {
  const value: unknown = JSON.parse(row)
  return flattenRow(typeof value === 'object' && value !== null ? { ...value } : { id: value })
}

const csvText = (columns: readonly string[], row: string) => {
  const cells = csvRow(row)
  return csvLine(columns.map((column) => cells.get(column)))
}

// Each line has all columns: spreadsheets cannot read more.
const maxColumns = 10_000

const addColumns = (columns: Set<string>, row: string) => {
  for (const name of csvRow(row).keys()) columns.add(name)
  if (columns.size > maxColumns)
    throw failure(faultyRequest, { message: `more than ${maxColumns} columns: select some with fields` })
}

/** The list is read twice, for the columns and for the rows, so that memory stays constant. */
async function* csvPieces<T>(exchange: RequestContext, listing: Listing<T>, plan: ListPlan): Pieces {
  const columns = new Set<string>(['id'])
  const render = flatRow(listing, plan)
  const learn = (item: T) => {
    addColumns(columns, render(item))
    return ''
  }
  if (exchange.method !== 'HEAD') for await (const _ of rowsInTurn(exchange, listing, plan, learn));
  const names = [...columns]
  yield csvLine(names)
  const write = (item: T) => csvText(names, render(item))
  for await (const rows of rowsInTurn(exchange, listing, plan, write)) yield rows.join('')
}

/** The store itself writes the lines, unless a filter must see each record. */
async function* sheetLines<T>(
  exchange: RequestContext,
  listing: Listing<T>,
  plan: ListPlan,
  sheet: Sheet<T>,
): Pieces {
  if (plan.filter || !sheet.lines) {
    const whole = { ...plan, needsWhole: true }
    for await (const rows of rowsInTurn(exchange, listing, whole, sheet.line)) yield rows.join('')
    return
  }
  const { after, descending } = plan
  for await (const lines of sheet.lines({ ...(after ? { after } : {}), descending })) {
    yield lines
    giveBack(lines)
  }
}

async function* sheetPieces<T>(
  exchange: RequestContext,
  listing: Listing<T>,
  plan: ListPlan,
  sheet: Sheet<T>,
): Pieces {
  let isBegun = false
  for await (const lines of sheetLines(exchange, listing, plan, sheet)) {
    if (!isBegun) yield sheet.header
    isBegun = true
    yield lines
  }
  if (!isBegun) yield sheet.header
}

export const sendCsv = <T>(exchange: RequestContext, listing: Listing<T>, plan: ListPlan) => {
  const sheet = plan.fields ? undefined : listing.sheet
  const headers = csvHeaders(exchange)
  return sheet
    ? withRoom(exchange, sheetStreamBytes, () =>
        sendStreamed(exchange, headers, sheetPieces(exchange, listing, plan, sheet)),
      )
    : withRoom(exchange, rowStreamBytes, () =>
        sendStreamed(exchange, headers, csvPieces(exchange, listing, plan)),
      )
}

/** A page of CSV is collected, because its start key is in a header. It reserves memory while it grows. */
const collectCsvPage = async <T>(
  exchange: RequestContext,
  listing: Listing<T>,
  plan: ListPlan,
  render: Render<T>,
  use: (rows: readonly string[], end: PageEnd) => Promise<void>,
) => {
  const claims: (() => void)[] = []
  const rows: string[] = []
  try {
    const batches = rowsInTurn(exchange, listing, plan, render)
    for (;;) {
      const { done, value } = await batches.next()
      if (done) return await use(rows, value)
      if (isLong(plan)) claims.push(claimRoom(exchange, 2 * lengthOf(value)))
      rows.push(...value)
    }
  } finally {
    for (const end of claims) end()
  }
}

const csvPageHeaders = (exchange: RequestContext, { nextStartKey }: PageEnd): Headers => ({
  ...(nextStartKey === undefined ? {} : { 'x-next-start-key': nextStartKey }),
  ...csvHeaders(exchange),
})

export const sendCsvPage = <T>(exchange: RequestContext, listing: Listing<T>, plan: ListPlan) => {
  const sheet = plan.fields ? undefined : listing.sheet
  const render = sheet ? (item: T) => sheet.line(item) : flatRow(listing, plan)
  const wanted = sheet ? { ...plan, needsWhole: true } : plan
  return collectCsvPage(exchange, listing, wanted, render, async (rows, end) => {
    const headers = csvPageHeaders(exchange, end)
    if (sheet) return send(exchange, 200, sheet.header + rows.join(''), headers)
    const columns = new Set<string>(['id'])
    await inSlices(rows, (row) => addColumns(columns, row))
    const names = [...columns]
    const lines = await inSlices(rows, (row) => csvText(names, row))
    return send(exchange, 200, csvLine(names) + lines.join(''), headers)
  })
}
