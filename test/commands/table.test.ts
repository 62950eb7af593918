// Tables with names in any script, on terminals of any width.

import fc from 'fast-check'
import truncatedWidth from 'fast-string-truncated-width'
import { describe, expect, it } from 'vitest'
import { type Column, createTable, fitted } from '../../cli/table.ts'
import { printable, type Terminal } from '../../cli/terminal.ts'

type Row = readonly [string, string, string]

const columns: readonly Column<Row>[] = [
  { title: 'NAME', of: ([name]) => name },
  { title: 'COUNT', of: ([, count]) => count, align: 'right' },
  { title: 'ID', of: ([, , id]) => id, isWhole: true },
]

const written = async (rows: readonly Row[], width?: number) => {
  let output = ''
  const terminal: Terminal = {
    print: async (text) => {
      output += text
    },
    file: async () => {},
    printError: () => {},
    paint: (_style, text) => text,
    paintError: (_style, text) => text,
    lastWords: () => {},
    columns: width,
    isAttended: false,
  }
  const table = createTable(terminal, columns)
  for (const row of rows) await table.add(row)
  await table.end()
  return output.split('\n').slice(0, -1)
}

const widthOf = (text: string) => truncatedWidth(text, { limit: Number.POSITIVE_INFINITY }).width

const id = '0123456789abcdef0123456789abcdef'

describe('a table', () => {
  it('puts wide and narrow letters under each other', async () => {
    const rows: Row[] = [
      ['日本電話', '1', id],
      ['e\u0301te\u0301', '12', id],
      ['👩‍👩‍👧 family', '123', id],
    ]
    expect(await written(rows)).toEqual([
      'NAME       COUNT  ID',
      `日本電話       1  ${id}`,
      `e\u0301te\u0301           12  ${id}`,
      `👩‍👩‍👧 family    123  ${id}`,
    ])
  })

  it('holds names from the right together on a terminal, and leaves them alone in a file', async () => {
    const rows: Row[] = [['شركة', '1', id]]
    expect((await written(rows, 100))[1]).toContain('\u2068شركة\u2069')
    expect((await written(rows))[1]).toContain('شركة')
    expect((await written(rows))[1]).not.toContain('\u2068')
  })

  it('takes from the widest column first, and nothing from ids', () => {
    const wanted = [
      { width: 40, isWhole: false },
      { width: 20, isWhole: false },
      { width: 32, isWhole: true },
    ]
    expect(fitted(wanted, 96)).toEqual([40, 20, 32])
    expect(fitted(wanted, 86)).toEqual([30, 20, 32])
    expect(fitted(wanted, 66)).toEqual([15, 15, 32])
    expect(fitted(wanted, 20)).toEqual([6, 6, 32])
  })

  it('is never wider than the terminal, whatever the names are', async () => {
    const name = fc.string({ unit: 'grapheme', maxLength: 60 })
    await fc.assert(
      fc.asyncProperty(
        fc.array(name, { minLength: 1, maxLength: 5 }),
        fc.integer({ min: 60, max: 120 }),
        async (names, width) => {
          const lines = await written(
            names.map((one): Row => [one, '1', id]),
            width,
          )
          expect(lines).toHaveLength(names.length + 1)
          for (const line of lines)
            expect(widthOf(line.replaceAll(/[\u2068\u2069]/g, ''))).toBeLessThanOrEqual(width)
        },
      ),
    )
  })
})

describe('a text of another person', () => {
  it('moves no cursor, ends no line and turns no direction', () => {
    expect(printable('a\u001b[2J\r\n\u009bb\u202ec\u2067d')).toBe('a�[2J���b�c�d')
    expect(printable('شركة 日本 👍')).toBe('شركة 日本 👍')
  })
})
