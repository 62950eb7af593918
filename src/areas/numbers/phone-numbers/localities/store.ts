import { conflict } from '../../../../storage/change-set.ts'
import { isStorable } from '../../../../storage/records.ts'
import type { Store } from '../../../../storage/store.ts'
import { integer, shape, text } from '../../../../storage/table.ts'
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

const insertedColumns = {
  prefix: 'text',
  country: 'text',
  region: 'text',
  city: 'text',
  city_key: 'text',
  rate_center: 'text',
  lata: 'text',
  latitude: 'text',
  longitude: 'text',
} as const

const names = Object.keys(insertedColumns)

const insertSql = (given: string) => `INSERT INTO localities (generation, ${names.join(', ')})
  SELECT $1, ${names.map((name) => `given.${name}`).join(', ')} FROM ${given} WHERE true
  ON CONFLICT (generation, prefix) DO UPDATE SET ${names.map((name) => `${name} = excluded.${name}`).join(', ')}`

// More prefixes are read off the event loop.
const maxReadHere = 400

const maxCityRows = 5000
const rowsPerDelete = 5000

/** Rows count once the record `localities` names their generation. */
export const createLocalityRows = (store: Store) => ({
  /** Each prefix once. */
  insert: (generation: string, rows: readonly Locality[]) =>
    store.writeUnrecorded([
      ...store.words.forEachRow({
        shape: insertedColumns,
        rows: rows.map(({ rateCenter, ...row }) => ({
          ...row,
          city_key: cityKey(row.city),
          rate_center: rateCenter,
        })),
        params: [generation],
        sql: insertSql,
        orElse: conflict,
      }),
    ]),

  async find(generation: string, prefixes: readonly string[]): Promise<Map<string, Locality>> {
    const read = prefixes.length > maxReadHere ? store.scan : store.all
    const rows = await read(
      `SELECT ${localities.columnsOf('l')} FROM ${store.words.pairs('$2')} CROSS JOIN localities l
        WHERE l.generation = $1 AND l.prefix = pairs.a`,
      // A prefix may be cut within a character, which PostgreSQL rejects.
      [generation, JSON.stringify(prefixes.filter(isStorable).map((prefix) => [prefix, '']))],
    )
    return new Map(localities.list(rows).map((row) => [row.prefix, row]))
  },

  cities(generation: string, country: string, name: string): Promise<CityRow[]> {
    return store.scan<CityRow>(
      `SELECT city, region, prefix, country FROM localities
        WHERE generation = $1 AND country = $2 AND city_key >= $3 AND city_key < $4
        ORDER BY city_key, region, prefix LIMIT $5`,
      [generation, country, name, `${name}\u{10ffff}`, maxCityRows],
    )
  },

  /** Without it PostgreSQL reads all rows of a new generation for each look-up. */
  async analyze() {
    const statement = store.words.analysis('localities')
    if (statement) await store.writeUnrecorded([statement])
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
