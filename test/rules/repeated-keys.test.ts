import { expect, it } from 'vitest'
import { parseStrictly } from '../support/matchers/repeated-keys.ts'

it.each(['{"a":1}', '{"a":{"a":[{"a":"\\"a\\":1, \\\\"}]},"":null}', '[]', '"a:b"', '{"a" : "b\\u0022:"}'])(
  'accepts JSON without repeated keys: %s',
  (json) => {
    expect(parseStrictly(json)).toEqual(JSON.parse(json))
  },
)

it.each(['{"a":1,"a":1}', '[{"b":{"a":1,"a" :2}}]', '{"a":1,"\\u0061":2}'])(
  'rejects an object that repeats a key: %s',
  (json) => {
    expect(() => parseStrictly(json)).toThrow('An object repeats a key')
  },
)
