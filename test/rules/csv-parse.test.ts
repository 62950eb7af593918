import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { plainCsvLine } from '../../src/lib/csv.ts'
import { CsvMistake, createCsvParser } from '../../src/lib/csv-parse.ts'

/** Reads a text whose bytes arrive in pieces that end at `cuts`. */
const recordsOf = (text: string | Buffer, cuts: readonly number[] = []) => {
  const bytes = Buffer.from(text as string)
  const ends = [...cuts.filter((cut) => cut < bytes.length).sort((a, b) => a - b), bytes.length]
  const parser = createCsvParser()
  const pieces = ends.map((end, index) => bytes.subarray(index === 0 ? 0 : ends[index - 1], end))
  return [...pieces.flatMap((piece) => parser.push(piece)), ...parser.end()]
}

const cellsOf = (text: string | Buffer, cuts?: readonly number[]) =>
  recordsOf(text, cuts).map(({ cells }) => cells)

const awkward = fc.constantFrom(
  ',',
  '"',
  '""',
  '\r',
  '\n',
  '\r\n',
  ' ',
  '\t',
  ' "a"',
  'a"b',
  '\ufeff',
  'é',
  '📞',
  ',,',
  "'",
)
const cell = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc.array(awkward).map((parts) => parts.join('')),
  fc.constant(undefined),
)
// A row that is one absent cell would be a blank line: it is written as the empty text.
const row = fc.array(cell, { minLength: 1 }).filter((cells) => cells.length > 1 || cells[0] !== undefined)
const cuts = fc.array(fc.nat({ max: 400 }))

describe('the CSV parser', () => {
  it('reads what was written, wherever the pieces end', () => {
    fc.assert(
      fc.property(fc.array(row), cuts, fc.boolean(), (rows, places, hasMark) => {
        // The parser skips only a byte order mark that the writer put there, not a first cell that begins like
        // one.
        const text = `${hasMark || rows[0]?.[0]?.startsWith('\ufeff') ? '\ufeff' : ''}${rows.map(plainCsvLine).join('')}`
        expect(cellsOf(text, places)).toEqual(rows)
      }),
      { numRuns: 1000 },
    )
  })

  it('reads a long row in time although it comes in the smallest pieces', () => {
    const text = Buffer.from(`a,"${'b'.repeat(900_000)}",c\r\n`)
    const parser = createCsvParser()
    const records = []
    for (let at = 0; at < text.length; at += 10) records.push(...parser.push(text.subarray(at, at + 10)))
    records.push(...parser.end())
    expect(records.map(({ cells, start, end }) => [cells.length, start, end])).toEqual([
      [3, 0, text.length - 1],
    ])
  })

  it('gives the same for the same bytes in whatever pieces, or refuses them alike', () => {
    const outcome = (text: string, places: readonly number[]) => {
      try {
        return recordsOf(text, places)
      } catch (error) {
        expect(error).toBeInstanceOf(CsvMistake)
        return 'refused'
      }
    }
    fc.assert(
      fc.property(
        fc.array(awkward).map((parts) => parts.join('')),
        cuts,
        (text, places) => {
          expect(outcome(text, places)).toEqual(outcome(text, []))
        },
      ),
      { numRuns: 1000 },
    )
  })

  it('cuts the bytes into records without a gap, so that a reader can continue at the end of any record', () => {
    fc.assert(
      fc.property(fc.array(row, { minLength: 2 }), fc.nat(), (rows, nat) => {
        const bytes = Buffer.from(rows.map(plainCsvLine).join(''))
        const records = recordsOf(bytes)
        const at = nat % records.length
        const rest = cellsOf(bytes.subarray(records[at]?.end))
        // The rest is read as a new text: a mark at its beginning would be taken for a byte order mark.
        fc.pre(!rows.some(([first]) => first?.startsWith('\ufeff')))
        expect(rest).toEqual(rows.slice(at + 1))
      }),
    )
  })

  it.each([
    [
      'line ends of all kinds and blank lines',
      'a,b\r\n1,2\n\r3,4\r\r5,6\n\n7,8\r',
      [
        ['a', 'b'],
        ['1', '2'],
        ['3', '4'],
        ['5', '6'],
        ['7', '8'],
      ],
    ],
    ['a byte order mark', '\ufeffe164\n+1', [['e164'], ['+1']]],
    ['line breaks in quotes', 'a,"b\r\nc\n",d\n', [['a', 'b\r\nc\n', 'd']]],
    ['quotes written twice', '"say ""hi""",""""\n', [['say "hi"', '"']]],
    ['nothing and the empty text', 'a,,"",\n', [['a', undefined, '', undefined]]],
    ['blanks around quotes', 'a, "b" ,\t"c"\n', [['a', 'b', 'c']]],
    ['blanks and quotes inside of plain cells', ' a ,5" pipe, b"c"\n', [[' a ', '5" pipe', ' b"c"']]],
    ['rows of unequal length', 'a,b\n1\n1,2,3', [['a', 'b'], ['1'], ['1', '2', '3']]],
    ['a last line without an end', 'a\n"b"', [['a'], ['b']]],
    ['no text', '', []],
    ['only line ends and a mark', '\ufeff\r\n\n\r', []],
  ])('reads %s', (_what, text, rows) => {
    expect(cellsOf(text)).toEqual(rows)
    expect(
      cellsOf(
        text,
        Array.from({ length: 60 }, (_, at) => at),
      ),
    ).toEqual(rows)
  })

  it.each([
    ['a quote that is not closed', 'a,"b\nc,d\n', 'a quote is not closed'],
    ['text behind a closing quote', 'a,"b"c\n', 'text follows a closing quote'],
    ['a row without end', `a,"${'b'.repeat(1_000_001)}`, 'a row is longer than 1000000 bytes'],
    ['a row of too many cells', `a\n${','.repeat(10_000)}`, 'a row has more than 10000 cells'],
  ])('refuses %s', (_what, text, message) => {
    expect(() => cellsOf(text, [])).toThrow(new CsvMistake(message))
  })
})
