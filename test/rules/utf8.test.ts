import { isUtf8 } from 'node:buffer'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { loosePercentDecoded, looseUtf8Text } from '../../src/lib/utf8.ts'

const pieces = fc.oneof(
  fc.string({ unit: 'grapheme' }).map((text) => Buffer.from(text)),
  fc.uint8Array({ maxLength: 5 }).map((bytes) => Buffer.from(bytes)),
  fc
    .constantFrom('c3', 'c0af', 'e282', 'eda080', 'edbfbf', 'f09f98', 'f4908080', 'f8', 'ff')
    .map((hex) => Buffer.from(hex, 'hex')),
)
const anyBytes = fc.array(pieces, { maxLength: 8 }).map((some) => Buffer.concat(some))

/** The bytes that a text was made of. */
const bytesOf = (text: string) =>
  Buffer.concat(
    Array.from(text, (character) =>
      character.isWellFormed() ? Buffer.from(character) : Buffer.from([character.charCodeAt(0) - 0xdc00]),
    ),
  )

it('bytes become a text that no other bytes become, well-formed only if they are UTF-8', () => {
  fc.assert(
    fc.property(anyBytes, (bytes) => {
      const text = looseUtf8Text(bytes)
      expect(bytesOf(text)).toEqual(bytes)
      expect(text.isWellFormed()).toBe(isUtf8(bytes))
    }),
    { numRuns: 2000 },
  )
})

it('percent-encoded bytes become the same text', () => {
  fc.assert(
    fc.property(anyBytes, (bytes) => {
      const encoded = bytes.toString('hex').replace(/../g, '%$&')
      expect(loosePercentDecoded(encoded)).toBe(looseUtf8Text(bytes))
    }),
  )
})
