import type { Store } from '../../../storage/store.ts'
import type { ListPiece } from '../archive/rules.ts'
import type { CdrRow } from '../columns.ts'
import type { RowsOfView } from '../listing/kept-rows.ts'
import type { Bounded, Part, Parts } from '../parts/store.ts'
import type { Place } from '../reading/rules.ts'
import { createParams, type Params, selectedColumns } from '../reading/store.ts'
import { type BegunRow, finishedRow, rowTextOf } from '../rules.ts'
import type { RowView } from '../sheet/columns.ts'
import { begunRowsOf } from '../sheet/store.ts'

/** A row of a list without the leg it was made of. */
export interface ShownRow {
  place: Place
  row: string | Uint8Array
}

/** How rows are shown, and those of them that are kept, where they are asked for again. */
export interface Showing {
  view: RowView
  kept: RowsOfView | undefined
}

// Where more legs than these have not been shown before, all are read along the index.
const mostSingly = 20

type BegunLeg = BegunRow & Pick<CdrRow, 'id' | 'created'>

/** A row that was just made. */
interface MadeRow extends ShownRow {
  row: string
}

/** Legs of the store as rows of lists, without what they were made of. */
export const createLegRows = (store: Store, { inPart, statementOf }: Parts) => {
  const { words } = store

  /** Where the legs of a part stand: read along the index alone. */
  const readPlaces = (part: Bounded<Part>, limit: number) => {
    const { params, mark } = createParams()
    const statement = statementOf(part, { mark })
    const size = mark(limit)
    return inPart(part, (from) =>
      store.all<Pick<CdrRow, 'created' | 'id'>>(
        `SELECT created, id ${statement(from)} LIMIT ${size}`,
        params,
      ),
    )
  }

  /** The rows of the legs that a statement reads, from FROM on. */
  const readRows = async (
    part: Part,
    { params }: Pick<Params, 'params'>,
    { view, long }: { view: RowView; long: boolean },
    statement: (from: string) => string,
  ): Promise<MadeRow[]> => {
    const read = long ? store.scan : store.all
    const begun = begunRowsOf(words, view)
    const rows = await inPart(part, (from) =>
      read<CdrRow | BegunLeg>(
        `SELECT ${begun ? `id, created, ${begun}` : selectedColumns} ${statement(from)}`,
        params,
      ),
    )
    return rows.map((row) => ({
      place: { time: row.created, mark: row.id },
      row: 'shown' in row ? finishedRow(row, part.scope.accountId, view) : rowTextOf(row, view),
    }))
  }

  const readSomeRows = (part: Part, ids: readonly string[], view: RowView) => {
    const params = createParams()
    const holder = params.mark(part.scope.accountId)
    const wanted = ids.map(params.mark).join(', ')
    return readRows(
      part,
      params,
      { view, long: false },
      (from) => `FROM ${from} WHERE account_id = ${holder} AND id IN (${wanted})`,
    )
  }

  const readRowsOfPart = async (part: Part, limit: number, how: { view: RowView; long: boolean }) => {
    const params = createParams()
    const statement = statementOf({ ...part, until: undefined }, params)
    const size = params.mark(limit)
    const items = await readRows(part, params, how, (from) => `${statement(from)} LIMIT ${size}`)
    return { items, next: items.length === limit ? items.at(-1)?.place : undefined }
  }

  /** Rows of a part, of which most are kept: those that are not are read one by one. */
  const shownAmong = async (
    part: Part,
    places: readonly Pick<CdrRow, 'created' | 'id'>[],
    view: RowView,
    kept: RowsOfView,
  ) => {
    const found = new Map<string, Uint8Array>()
    for (const { id } of places) {
      const bytes = kept.find(id)
      if (bytes) found.set(id, bytes)
    }
    const missing = places.filter(({ id }) => !found.has(id))
    if (missing.length > mostSingly) return undefined
    const ids = missing.map(({ id }) => id)
    const made = ids.length === 0 ? [] : await readSomeRows(part, ids, view)
    for (const { place, row } of made) found.set(place.mark, kept.keep(place.mark, row))
    // One that was there a moment ago may have gone with its month.
    return places.flatMap(({ created, id }): ShownRow[] => {
      const row = found.get(id)
      return row ? [{ place: { time: created, mark: id }, row }] : []
    })
  }

  /** A part as rows: of the legs that have been shown before only where they stand is read. */
  const keptPiece = async (
    part: Part,
    limit: number,
    view: RowView,
    kept: RowsOfView,
  ): Promise<ListPiece<ShownRow>> => {
    const bounded = { ...part, until: undefined }
    const places = await readPlaces(bounded, limit)
    const shown = await shownAmong(part, places, view, kept)
    if (shown) {
      const final = places.at(-1)
      return {
        items: shown,
        next: final && places.length === limit ? { time: final.created, mark: final.id } : undefined,
      }
    }
    const { items, next } = await readRowsOfPart(part, limit, { view, long: false })
    return { items: items.map(({ place, row }) => ({ place, row: kept.keep(place.mark, row) })), next }
  }

  const shownPiece = (
    part: Part,
    limit: number,
    { view, kept }: Showing,
    long: boolean,
  ): Promise<ListPiece<ShownRow>> =>
    kept ? keptPiece(part, limit, view, kept) : readRowsOfPart(part, limit, { view, long })

  return { shownPiece }
}
