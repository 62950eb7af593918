// A body that comes in pieces, with base64 and data URLs undone.

import { isBase64 } from '../../lib/base64.ts'
import { invalid } from '../../lib/failure.ts'

export const dataUrl = /^data:([\w.+-]+\/[\w.+-]+)?(?:;[\w=-]+)*;base64,/

/** No data URL has a longer beginning. */
export const maxOpening = 200

export const notBase64 = () => invalid({ file: { encoding: { message: 'The file is not valid base64' } } })

const mayBeDataUrl = (head: string) =>
  head.length < maxOpening && head.slice(0, 5) === 'data:'.slice(0, head.length) && !head.includes(',')

/** The same pieces; the first holds all of a data URL's beginning. Other content does not wait. */
async function* headFirst(pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let head: Buffer | undefined = Buffer.alloc(0)
  for await (const piece of pieces) {
    const bytes: Buffer = head ? Buffer.concat([head, piece]) : piece
    head = head && mayBeDataUrl(bytes.toString('latin1', 0, maxOpening)) ? bytes : undefined
    if (!head) yield bytes
  }
  if (head?.length) yield head
}

/** Symbols wait until there are four of them; behind the padding nothing may come, which is judged with what waits. */
const createDecoder = () => {
  let waiting = ''
  return {
    push(piece: Buffer) {
      waiting += piece.toString('latin1').replace(/\s+/g, '')
      if (!isBase64(waiting)) throw notBase64()
      const end = waiting.endsWith('=') ? 0 : waiting.length - (waiting.length % 4)
      const bytes = Buffer.from(waiting.slice(0, end), 'base64')
      waiting = waiting.slice(end)
      return bytes
    },
    end: () => Buffer.from(waiting, 'base64'),
  }
}

/** `isEncoded`: whether the request says that its body is base64. */
export async function* decodedPieces(
  pieces: AsyncIterable<Buffer>,
  isEncoded: boolean,
): AsyncGenerator<Buffer> {
  let decoder: ReturnType<typeof createDecoder> | undefined
  let isFirst = true
  for await (const piece of headFirst(pieces)) {
    const opening = isFirst ? dataUrl.exec(piece.toString('latin1', 0, maxOpening)) : undefined
    if (isFirst && (opening || isEncoded)) decoder = createDecoder()
    isFirst = false
    const bytes = decoder ? decoder.push(piece.subarray(opening?.[0].length ?? 0)) : piece
    if (bytes.length > 0) yield bytes
  }
  const last = decoder?.end()
  if (last?.length) yield last
}
