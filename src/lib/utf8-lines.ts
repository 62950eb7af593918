// Checks streamed text for UTF-8, and finds the first line that is not.
import { isUtf8 } from 'node:buffer'

/** The first line is 1. */
export class NotUtf8 extends Error {
  constructor(line: number) {
    super(`line ${line} is not UTF-8: save the file as UTF-8`)
  }
}

const lf = 0x0a
const cr = 0x0d

/** Bytes at the end that begin an incomplete character. */
const begunCharacter = (bytes: Buffer) => {
  for (let back = 1; back <= 3; back += 1) {
    const byte = bytes[bytes.length - back] ?? 0
    if (byte < 0x80) return 0
    if (byte < 0xc0) continue
    let length = 2
    if (byte >= 0xe0) length = byte >= 0xf0 ? 4 : 3
    return length > back ? back : 0
  }
  return 0
}

/** Line ends: LF, CR or both. */
const endsIn = (bytes: Buffer) => {
  let count = 0
  for (let at = bytes.indexOf(lf); at >= 0; at = bytes.indexOf(lf, at + 1)) count += 1
  for (let at = bytes.indexOf(cr); at >= 0; at = bytes.indexOf(cr, at + 1))
    if (bytes[at + 1] !== lf) count += 1
  return count
}

/** No UTF-8 character contains a line end. */
const upToBadLine = (bytes: Buffer) => {
  let start = 0
  for (let at = 0; at < bytes.length; at += 1) {
    if (bytes[at] !== lf && bytes[at] !== cr) continue
    if (!isUtf8(bytes.subarray(start, at))) return bytes.subarray(0, at)
    start = at + 1
  }
  return bytes
}

export const createUtf8Lines = () => {
  let rest: Buffer = Buffer.alloc(0)
  let line = 1
  let endsWithCr = false

  const judge = (bytes: Buffer) => {
    // Half of it was counted with the previous chunk.
    const from = endsWithCr && bytes[0] === lf ? 1 : 0
    const counted = bytes.subarray(from)
    if (!isUtf8(bytes)) throw new NotUtf8(line + endsIn(upToBadLine(counted)))
    line += endsIn(counted)
    endsWithCr = bytes.length > 0 ? bytes.at(-1) === cr : endsWithCr
  }

  return {
    push(piece: Uint8Array) {
      const whole = Buffer.concat([rest, piece])
      const end = whole.length - begunCharacter(whole)
      judge(whole.subarray(0, end))
      rest = whole.subarray(end)
    },
    end: () => judge(rest),
  }
}
