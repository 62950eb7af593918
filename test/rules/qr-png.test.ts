import { crc32, inflateSync } from 'node:zlib'
import fc from 'fast-check'
import { encode } from 'uqr'
import { describe, expect, it } from 'vitest'
import { qrPng } from '../../src/http/response/qr-png.ts'

const chunksOf = (png: Buffer) => {
  const chunks: { type: string; data: Buffer }[] = []
  for (let at = 8; at < png.length; ) {
    const length = png.readUInt32BE(at)
    const body = png.subarray(at + 4, at + 8 + length)
    expect(png.readUInt32BE(at + 8 + length)).toBe(crc32(body))
    chunks.push({ type: body.toString('latin1', 0, 4), data: body.subarray(4) })
    at += length + 12
  }
  return chunks
}

/** The picture as rows of booleans, true where it is black. */
const pixelsOf = (png: Buffer) => {
  const [header, image] = chunksOf(png)
  const side = header?.data.readUInt32BE(0) as number
  expect(header?.data.readUInt32BE(4)).toBe(side)
  expect([...(header?.data.subarray(8) ?? [])]).toEqual([1, 0, 0, 0, 0])
  const bytes = inflateSync(image?.data as Buffer)
  const stride = 1 + Math.ceil(side / 8)
  expect(bytes.length).toBe(stride * side)
  return Array.from({ length: side }, (_, y) => {
    expect(bytes[y * stride]).toBe(0)
    return Array.from({ length: side }, (_, x) => {
      const byte = bytes[y * stride + 1 + (x >> 3)] as number
      return (byte & (128 >> (x & 7))) === 0
    })
  })
}

describe('qrPng', () => {
  it('is a PNG of three chunks', () => {
    const png = qrPng('otpauth://totp/x')
    expect(png.subarray(0, 8)).toEqual(Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'))
    expect(chunksOf(png).map(({ type }) => type)).toEqual(['IHDR', 'IDAT', 'IEND'])
  })

  it('shows the modules of the code, six pixels each, within a quiet zone of four', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1, maxLength: 120 }), (text) => {
        const pixels = pixelsOf(qrPng(text))
        const { data, size } = encode(text, { ecc: 'M', border: 0 })
        expect(pixels.length).toBe((size + 8) * 6)
        const shown = pixels.map((row, y) =>
          row.map((_, x) => data[Math.floor(y / 6) - 4]?.[Math.floor(x / 6) - 4] ?? false),
        )
        expect(pixels).toEqual(shown)
      }),
      { numRuns: 15 },
    )
  })
})
