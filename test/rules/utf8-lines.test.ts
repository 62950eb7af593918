import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createUtf8Lines, NotUtf8 } from '../../src/lib/utf8-lines.ts'

/**
 * The line that is reported as not UTF-8, or undefined when all lines are. The bytes arrive in pieces of this
 * size.
 */
const badLineIn = (bytes: Buffer, pieceBytes: number) => {
  const lines = createUtf8Lines()
  try {
    for (let at = 0; at < bytes.length; at += pieceBytes) lines.push(bytes.subarray(at, at + pieceBytes))
    lines.end()
    return undefined
  } catch (error) {
    if (!(error instanceof NotUtf8)) throw error
    return Number(/^line (\d+) is not UTF-8/.exec(error.message)?.[1])
  }
}

const text = fc.constantFrom('', 'a', 'Müller', '日本', '📞', ',"', 'é,é')
const lineEnd = fc.constantFrom('\n', '\r\n', '\r')
const pieceBytes = fc.integer({ min: 1, max: 9 })

it('UTF-8 passes, wherever its pieces end', () => {
  fc.assert(
    fc.property(fc.array(text), lineEnd, pieceBytes, (texts, end, size) => {
      expect(badLineIn(Buffer.from(texts.join(end)), size)).toBeUndefined()
    }),
  )
})

it('reports the line of text in another encoding', () => {
  const bad = fc.constantFrom([0xe9], [0xff, 0xfe], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xf0, 0x9f])
  fc.assert(
    fc.property(
      fc.array(text),
      bad,
      fc.array(text),
      lineEnd,
      pieceBytes,
      (before, bytes, after, end, size) => {
        const whole = Buffer.concat([
          Buffer.from(before.map((one) => one + end).join('')),
          Buffer.from(bytes),
          Buffer.from(after.map((one) => end + one).join('')),
        ])
        expect(badLineIn(whole, size)).toBe(before.length + 1)
      },
    ),
  )
})
