import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { columnsOf, csvLine, flattenRow, restored } from '../../src/lib/csv.ts'
import { createCsvParser } from '../../src/lib/csv-parse.ts'

// An independent reader of RFC 4180. Quotes distinguish empty texts from absent cells.
const parseLine = (line: string) => {
  const cells: (string | undefined)[] = []
  const cell = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/y
  for (;;) {
    const match = cell.exec(line)
    if (!match) throw new Error(`unreadable at ${cell.lastIndex}: ${line}`)
    cells.push(match[1] === undefined ? match[2] || undefined : match[1].replaceAll('""', '"'))
    if (match[3] === '\r\n') break
  }
  expect(cell.lastIndex).toBe(line.length)
  return cells
}

// Texts that get an apostrophe in front, also behind apostrophes that they have.
const formula = /^'*[=+\-@\t\r\n＝＋－＠]/
const plainText = fc.string({ unit: 'grapheme' }).filter((text) => !formula.test(text))

describe('csvLine', () => {
  it('is read back as it was written', () => {
    const awkward = fc.constantFrom(',', '"', '\r\n', 'a"b,c\nd', ' ', "'", '""')
    fc.assert(
      fc.property(
        fc.array(
          fc.oneof(
            plainText,
            awkward.filter((text) => !formula.test(text)),
            fc.constant(undefined),
          ),
          { minLength: 2 },
        ),
        (values) => {
          expect(parseLine(csvLine(values))).toEqual(values)
        },
      ),
    )
  })

  it('never writes a cell that a spreadsheet would run', () => {
    const start = fc.constantFrom('=', '+', '-', '@', '\t', '\r', '\n', '＝', '')
    fc.assert(
      fc.property(
        fc.array(
          fc.tuple(start, fc.string()).map((parts) => parts.join('')),
          { minLength: 1 },
        ),
        (values) => {
          for (const cell of parseLine(csvLine(values))) {
            if (cell !== undefined && /^[=+\-@\t\r\n＝]/.test(cell)) expect(cell).toMatch(/^[+-]\d+(\.\d+)?$/)
          }
        },
      ),
    )
  })

  it('is the very texts again when what was defused is restored', () => {
    const start = fc.constantFrom('=', '+', '-', '@', '\t', '\r', '\n', '＝', "'", "''", '"', '+1', '')
    const text = fc.array(fc.oneof(start, fc.string({ unit: 'grapheme' }))).map((parts) => parts.join(''))
    fc.assert(
      fc.property(fc.array(text, { minLength: 1 }), (values) => {
        const parser = createCsvParser()
        const [, row] = [...parser.push(Buffer.from(`header\r\n${csvLine(values)}`)), ...parser.end()]
        expect(row?.cells.map((cell) => cell && restored(cell))).toEqual(values)
      }),
      { numRuns: 1000 },
    )
  })

  it('guards what looks as if it were guarded, and nothing else that begins with an apostrophe', () => {
    expect(csvLine(["'=1", "''+5", "'tis", "'", "'5"])).toBe("''=1,'''+5,'tis,','5\r\n")
  })

  it('keeps numbers and phone numbers, and says how the rest is written', () => {
    const values = [-5, 0.012, '-5', '+14155550100', '+1 415', '=1+1', true, null, '', ['a', 1], []]
    expect(csvLine(values)).toBe(`-5,0.012,-5,+14155550100,'+1 415,'=1+1,true,,"","[""a"",1]",[]\r\n`)
  })

  it('writes numbers in all their digits and without exponents', () => {
    expect(csvLine([5e-8, -1.25e-7, 1e21, 0.1])).toBe(
      '0.00000005,-0.000000125,1000000000000000000000,0.1\r\n',
    )
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
        const [cell] = parseLine(csvLine([value]))
        expect(cell).toMatch(/^-?\d+(\.\d+)?$/)
        expect(Number(cell)).toBe(value === 0 ? 0 : value)
      }),
    )
  })

  it('never writes a blank line', () => {
    expect(csvLine([undefined])).toBe('""\r\n')
    expect(csvLine([])).toBe('""\r\n')
    expect(csvLine([undefined, undefined])).toBe(',\r\n')
  })
})

describe('flattenRow', () => {
  it('joins the keys of nested objects and keeps lists whole', () => {
    const row = flattenRow({
      id: 'a',
      sip: { realm: 'r', auth: { on: false } },
      tags: [{ b: 1 }],
      none: null,
      empty: {},
    })
    expect([...row]).toEqual([
      ['id', 'a'],
      ['sip_realm', 'r'],
      ['sip_auth_on', false],
      ['tags', [{ b: 1 }]],
      ['none', null],
    ])
  })

  it('keeps the first of two values that get one name, and survives odd names', () => {
    expect([...flattenRow({ a_b: 1, a: { b: 2 } })]).toEqual([['a_b', 1]])
    expect([...flattenRow(JSON.parse('{"__proto__":{"x":1},"constructor":2}'))]).toEqual([
      ['__proto___x', 1],
      ['constructor', 2],
    ])
  })
})

it('columnsOf lists every column once, in order of first appearance', () => {
  expect(
    columnsOf([flattenRow({ id: 1, b: { c: 2 } }), flattenRow({ a: 1, id: 2 }), flattenRow({})]),
  ).toEqual(['id', 'b_c', 'a'])
})
