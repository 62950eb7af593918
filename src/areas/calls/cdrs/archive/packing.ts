import type { CdrRow } from '../columns.ts'

/** Rows column by column, each value of a column once: they are handed from thread to thread, and kept, as little. */
interface PackedColumn {
  name: string
  values: (string | number | null)[]
  /** By row, where its value stands. */
  places: Uint32Array
}

export interface PackedRows {
  count: number
  columns: PackedColumn[]
}

const packColumn = (rows: readonly CdrRow[], name: keyof CdrRow): PackedColumn => {
  const known = new Map<string | number | null, number>()
  const places = new Uint32Array(rows.length)
  for (const [at, row] of rows.entries()) {
    const value = row[name]
    const place = known.get(value) ?? known.size
    if (place === known.size) known.set(value, place)
    places[at] = place
  }
  return { name, values: [...known.keys()], places }
}

/** Packs rows of the same columns. */
export const packRows = (rows: readonly CdrRow[]): PackedRows => ({
  count: rows.length,
  columns: Object.keys(rows[0] ?? {}).map((name) => packColumn(rows, name as keyof CdrRow)),
})

export const unpackRows = ({ count, columns }: PackedRows): CdrRow[] => {
  const rows = Array.from({ length: count }, (): Record<string, string | number | null> => ({}))
  for (const { name, values, places } of columns)
    for (const [at, row] of rows.entries()) row[name] = values[places[at] ?? 0] ?? null
  return rows as unknown as CdrRow[]
}
