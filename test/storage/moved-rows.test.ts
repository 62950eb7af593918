// Rows of every kind on their way between the engines.
import { expect, it } from 'vitest'
import { openPostgresSide } from '../../src/storage/moving/postgres-side.ts'
import { openSqliteSide } from '../../src/storage/moving/sqlite-side.ts'
import {
  type Cells,
  copyRows,
  digestOf,
  type MovedTable,
  type StoreSide,
} from '../../src/storage/moving/tables.ts'
import { makePlace } from '../support/servers/databases.ts'
import { engines } from '../support/servers/postgres.ts'

const texts = [
  ...[
    '',
    ' ',
    '\\',
    '\\N',
    '\\.',
    '\t',
    '\r\n',
    '\n\\.\n',
    "'",
    '"',
    'null',
    '0x41',
    '\\x41',
    '{"a":"\\u0000"}',
  ],
  ...['राम', 'रमा', 'é', 'e\u0301', '\u{1f600}', '\uffff', '\u0001', 'Z', 'a', 'ä', 'A', 'x'.repeat(300)],
]
const integers = ['0', '-1', '9007199254740993', '-9223372036854775808', '9223372036854775807']
const bytes = ['\\x', '\\x00', '\\x5c4e0a09', `\\x${'ff00'.repeat(20_000)}`]

/** Each of the values in a column of its kind, in a separate row. */
const rowsOf = ({ columns, key }: MovedTable): Cells[] =>
  Array.from({ length: texts.length }, (_, row) =>
    columns.map(({ name, kind }) => {
      if (kind === 'bytes') return bytes[row % bytes.length] ?? null
      if (kind === 'integer') return integers[row % integers.length] ?? null
      return key.includes(name) || row % 2 === 0 ? (texts[row] ?? null) : `${row}`
    }),
  )

const tableNamed = async (side: StoreSide, name: string) => {
  const table = (await side.tables()).find((found) => found.name === name)
  if (!table) throw new Error(`there is no table ${name}`)
  return table
}

const allOf = (side: StoreSide, table: MovedTable) => side.page(table, undefined, 1000)

it.runIf(engines.includes('postgres'))(
  'Difficult texts, integers and bytes are the same and in the same order on both engines, whatever page they are copied from',
  async () => {
    const places = [
      await makePlace('sqlite', { isUpgraded: true }),
      await makePlace('postgres', { isUpgraded: true }),
      await makePlace('sqlite', { isUpgraded: true }),
    ] as const
    const [first, , last] = places.map(({ dataDir }) => `${dataDir}/crosspoint.db`)
    const sides = [
      openSqliteSide(String(first)),
      await openPostgresSide(String(places[1].databaseUrl)),
      openSqliteSide(String(last)),
    ] as const
    const [one, two, three] = sides
    try {
      expect(await two.tables()).toEqual(await one.tables())
      for (const name of ['claims', 'long_parts', 'records', 'feed_below', 'kazoo_kept']) {
        const table = await tableNamed(one, name)
        await one.insert(table, rowsOf(table))
        for (const [from, to] of [
          [one, two],
          [two, three],
        ] as const) {
          let copied = 0
          await copyRows(from, to, table, (count) => {
            copied += count
          })
          expect([name, copied]).toEqual([name, texts.length])
          expect(await allOf(to, table)).toEqual(await allOf(one, table))
          expect(await digestOf(to, table)).toEqual(await digestOf(one, table))
          expect(await to.lastKey(table)).toEqual(await one.lastKey(table))
        }
      }
    } finally {
      for (const side of sides) await side.close()
      for (const place of places) await place.remove()
    }
  },
)
