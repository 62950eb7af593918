import { crc32, deflateSync } from 'node:zlib'
import { encode } from 'uqr'

const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
const pixelsPerModule = 6
const quietZone = 4

const chunk = (type: string, data: Buffer) => {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const framed = Buffer.alloc(body.length + 8)
  framed.writeUInt32BE(data.length)
  body.copy(framed, 4)
  framed.writeUInt32BE(crc32(body), body.length + 4)
  return framed
}

// One bit a pixel, 0 is black. The leading 0 means that the row is not filtered.
const pixelRow = (modules: readonly boolean[]) => {
  const width = modules.length * pixelsPerModule
  const row = Buffer.alloc(1 + Math.ceil(width / 8))
  for (let x = 0; x < width; x++) {
    const isDark = modules[Math.floor(x / pixelsPerModule)]
    const at = 1 + (x >> 3)
    if (!isDark) row.writeUInt8(row.readUInt8(at) | (128 >> (x & 7)), at)
  }
  return row
}

const header = (side: number) => {
  const data = Buffer.alloc(13)
  data.writeUInt32BE(side, 0)
  data.writeUInt32BE(side, 4)
  data[8] = 1
  return data
}

/** A QR code as a grayscale PNG. Throws for texts of more than 2,331 bytes. */
export const qrPng = (text: string): Buffer => {
  const { data, size } = encode(text, { ecc: 'M', border: quietZone })
  const rows = data.flatMap((modules) => new Array<Buffer>(pixelsPerModule).fill(pixelRow(modules)))
  return Buffer.concat([
    signature,
    chunk('IHDR', header(size * pixelsPerModule)),
    chunk('IDAT', deflateSync(Buffer.concat(rows))),
    chunk('IEND', Buffer.alloc(0)),
  ])
}
