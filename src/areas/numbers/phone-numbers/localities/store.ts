import type { Statement, Value } from '../../../../storage/db.ts'
import type { Store } from '../../../../storage/store.ts'
import { integer, placeholders, shape, text } from '../../../../storage/table.ts'
import { type CityRow, cityKey, type Locality } from './rules.ts'

const localities = shape({
  prefix: text(),
  country: text(),
  region: text(),
  city: text(),
  rateCenter: text(),
  lata: text(),
  latitude: text(),
  longitude: text(),
})
const countRow = shape({ count: integer() })

const localityValues = (generation: string, one: Locality): Value[] => [
  generation,
  one.prefix,
  one.country,
  one.region,
  one.city,
  cityKey(one.city),
  one.rateCenter,
  one.lata,
  one.latitude,
  one.longitude,
]

const width = 10
// Rows of one statement; the rest is inserted row by row, so that two statements are prepared.
const rowsPerInsert = 200

const insertSql = (rows: number) => {
  const tuples = Array.from({ length: rows }, (_, row) => `(${placeholders(width, 1 + row * width)})`)
  return `INSERT INTO localities (generation, prefix, country, region, city, city_key, rate_center, lata, latitude,
      longitude)
    VALUES ${tuples.join(', ')}
    ON CONFLICT (generation, prefix) DO UPDATE SET country = excluded.country, region = excluded.region,
      city = excluded.city, city_key = excluded.city_key, rate_center = excluded.rate_center, lata = excluded.lata,
      latitude = excluded.latitude, longitude = excluded.longitude`
}

const insertMany = insertSql(rowsPerInsert)
const insertOne = insertSql(1)

// Prefixes of one prepared statement.
const prefixesPerQuery = 40
const findSql = `SELECT ${localities.columns} FROM localities WHERE generation = $1 AND prefix IN (${placeholders(prefixesPerQuery, 2)})`

const maxCityRows = 5000
const rowsPerDelete = 5000

/** Rows count once the record `localities` names their generation. */
export const createLocalityRows = (store: Store) => ({
  insert(generation: string, rows: readonly Locality[]) {
    const statements: Statement[] = []
    const whole = rows.length - (rows.length % rowsPerInsert)
    for (let at = 0; at < whole; at += rowsPerInsert) {
      const params = rows.slice(at, at + rowsPerInsert).flatMap((row) => localityValues(generation, row))
      statements.push({ sql: insertMany, params })
    }
    for (const row of rows.slice(whole))
      statements.push({ sql: insertOne, params: localityValues(generation, row) })
    return store.writeUnrecorded(statements)
  },

  async find(generation: string, prefixes: readonly string[]): Promise<Map<string, Locality>> {
    const found = new Map<string, Locality>()
    // Very many prefixes are read off the event loop.
    const read = prefixes.length > prefixesPerQuery * 10 ? store.scan : store.all
    for (let at = 0; at < prefixes.length; at += prefixesPerQuery) {
      const asked = prefixes.slice(at, at + prefixesPerQuery)
      const padding = Array<string>(prefixesPerQuery - asked.length).fill('')
      for (const row of localities.list(await read(findSql, [generation, ...asked, ...padding])))
        found.set(row.prefix, row)
    }
    return found
  },

  cities(generation: string, country: string, name: string): Promise<CityRow[]> {
    return store.scan<CityRow>(
      `SELECT city, region, prefix, country FROM localities
        WHERE generation = $1 AND country = $2 AND city_key >= $3 AND city_key < $4
        ORDER BY city_key, region, prefix LIMIT $5`,
      [generation, country, name, `${name}\u{10ffff}`, maxCityRows],
    )
  },

  async count(generation: string) {
    const rows = await store.scan('SELECT count(*) AS count FROM localities WHERE generation = $1', [
      generation,
    ])
    return countRow.first(rows)?.count ?? 0
  },

  /** In steps, so that other writers get their turns. */
  async dropOthers(generation: string) {
    for (;;) {
      const [other] = await store.scan<{ generation: string }>(
        'SELECT generation FROM localities WHERE generation < $1 OR generation > $1 LIMIT 1',
        [generation],
      )
      if (!other) return
      await store.writeUnrecorded([
        {
          sql: `DELETE FROM localities WHERE generation = $1 AND prefix IN
            (SELECT prefix FROM localities WHERE generation = $1 ORDER BY prefix LIMIT $2)`,
          params: [other.generation, rowsPerDelete],
        },
      ])
    }
  },
})
