import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createPrettyPrinter, prettyPrinted } from '../../src/http/response/json-text.ts'

describe('JSON with line breaks', () => {
  it('is the text that JSON.stringify makes', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(prettyPrinted(JSON.stringify(value))).toBe(`${JSON.stringify(value, null, 2)}\n`)
      }),
    )
  })

  it('keeps quotes, backslashes and brackets of strings as they are', () => {
    const value = { 'a"b': '\\', 'c{': ['"[', '\\"', '\\\\', ','], d: {}, e: [], f: [[], {}] }
    expect(prettyPrinted(JSON.stringify(value))).toBe(`${JSON.stringify(value, null, 2)}\n`)
  })

  it('is the same in pieces that end between tokens', () => {
    const rows = fc.array(fc.jsonValue(), { maxLength: 5 })
    fc.assert(
      fc.property(rows, (list) => {
        const print = createPrettyPrinter()
        const pieces = [
          '{"data":[',
          ...list.map((row, at) => (at > 0 ? ',' : '') + JSON.stringify(row)),
          ']',
          ',"a":1}',
        ]
        expect(pieces.map(print).join('')).toBe(JSON.stringify({ data: list, a: 1 }, null, 2))
      }),
    )
  })
})
