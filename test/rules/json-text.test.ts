import fc from 'fast-check'
import { expect, test } from 'vitest'
import { splitObject } from '../../src/areas/calls/cdrs/json-text.ts'

const membersOf = (object: object) => JSON.stringify(object).slice(1, -1)
const name = 'vars'

const texts = fc.oneof(fc.string(), fc.constantFrom('"vars":{', '\\', '\\"', '}', '{', ']', ',"vars":{}'))
const values = fc.letrec((tie) => ({
  value: fc.oneof({ maxDepth: 3 }, texts, fc.integer(), fc.constant(null), tie('list'), tie('object')),
  list: fc.array(tie('value'), { maxLength: 3 }),
  object: fc.dictionary(fc.oneof(texts, fc.constant(name)), tie('value'), { maxKeys: 4 }),
})).object as fc.Arbitrary<Record<string, unknown>>

test('the members below a name and all others make up the object again, whatever they hold', () => {
  fc.assert(
    fc.property(values, values, fc.nat(4), (others, inner, place) => {
      const entries = Object.entries(others).filter(([key]) => key !== name)
      entries.splice(place, 0, [name, inner])
      const split = splitObject(JSON.stringify(Object.fromEntries(entries)), name)
      const { [name]: _, ...rest } = Object.fromEntries(entries)
      // As texts: the runtime's own parser mistakes keys that hold escaped characters for each other.
      expect(split).toEqual({ inner: membersOf(inner), others: membersOf(rest) })
    }),
    { numRuns: 2000 },
  )
})

test('a name that only stands deeper or in a text is not found', () => {
  const object = { a: { vars: { b: 1 } }, c: [{ vars: {} }], d: '"vars":{"e":1}', f: '\\"vars":{' }
  expect(splitObject(JSON.stringify(object), name)).toEqual({
    inner: '',
    others: JSON.stringify(object).slice(1, -1),
  })
})

test('what is no object below the name is not split', () => {
  expect(splitObject('{"a":1,"vars":[1]}', name)).toBe(undefined)
  expect(splitObject('{"vars":"{}"}', name)).toBe(undefined)
})

test('an empty object below the name leaves the others as they are', () => {
  expect(splitObject('{"vars":{}}', name)).toEqual({ inner: '', others: '' })
  expect(splitObject('{"vars":{},"a":1}', name)).toEqual({ inner: '', others: '"a":1' })
  expect(splitObject('{"a":1,"vars":{},"b":2}', name)).toEqual({ inner: '', others: '"a":1,"b":2' })
})
