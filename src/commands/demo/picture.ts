import { crc32, deflateSync } from 'node:zlib'

type Colour = readonly [red: number, green: number, blue: number]

const chunk = (kind: string, data: Buffer) => {
  const body = Buffer.concat([Buffer.from(kind, 'latin1'), data])
  const frame = Buffer.alloc(8)
  frame.writeUInt32BE(data.length, 0)
  frame.writeUInt32BE(crc32(body), 4)
  return Buffer.concat([frame.subarray(0, 4), body, frame.subarray(4)])
}

const headerOf = (width: number, height: number) => {
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  // Eight bits a channel, red, green, blue and how much hides what is behind.
  header.set([8, 6, 0, 0, 0], 8)
  return header
}

const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])

/** Draws a PNG: `shade` says how much of the colour is seen where (0 to 1, both from the middle, in halves of the height). */
const png = (width: number, height: number, colour: Colour, shade: (x: number, y: number) => number) => {
  const rows = Buffer.alloc(height * (1 + width * 4))
  for (let row = 0; row < height; row += 1) {
    for (let column = 0; column < width; column += 1) {
      const seen = shade((column + 0.5 - width / 2) / (height / 2), (row + 0.5 - height / 2) / (height / 2))
      const place = row * (1 + width * 4) + 1 + column * 4
      rows.set([...colour, Math.round(Math.max(0, Math.min(1, seen)) * 255)], place)
    }
  }
  return new Uint8Array(
    Buffer.concat([
      signature,
      chunk('IHDR', headerOf(width, height)),
      chunk('IDAT', deflateSync(rows)),
      chunk('IEND', Buffer.alloc(0)),
    ]),
  )
}

const soft = (distance: number, pixels: number) => 0.5 - distance * pixels

/** Waves that leave a point: a disc and two rings. */
const waves = (x: number, y: number, pixels: number) => {
  const from = Math.hypot(x, y)
  const ring = (radius: number) => soft(Math.abs(from - radius) - 0.08, pixels)
  return Math.max(soft(from - 0.3, pixels), ring(0.58), ring(0.86))
}

export const iconOf = (colour: Colour) => png(64, 64, colour, (x, y) => waves(x, y, 32))

/** The icon, and beside it three bars of a voice. */
export const logoOf = (colour: Colour) =>
  png(320, 80, colour, (x, y) => {
    if (x < -1.8) return waves(x + 3, y, 40)
    const bar = Math.round(x / 0.32)
    const height = 0.25 + 0.55 * Math.abs(Math.sin(bar * 1.7))
    return Math.min(soft(Math.abs(x - bar * 0.32) - 0.09, 40), soft(Math.abs(y) - height, 40))
  })
