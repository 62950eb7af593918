// A copy of a whole store, taken beside its server.

/** So much of a store is in memory at once. */
export const pieceBytes = 8_388_608

export interface StoreCopy {
  /** The last upgrade of the store. */
  upgrade: number
  /** Rows by table, at the moment of the copy. */
  counts: Record<string, number>
  /** All of it, in pieces of `pieceBytes` at most. */
  pieces: AsyncIterable<Buffer>
  /** Leaves nothing behind. */
  close(): Promise<void>
}

/** What keeps a copy from being made or put back: told to whoever asked, and nothing has been changed. */
export class Refusal extends Error {}

/** Pieces of one size, however the bytes come. */
export async function* evenPieces(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let waiting: Buffer[] = []
  let bytes = 0
  for await (const piece of source) {
    waiting.push(piece)
    bytes += piece.length
    if (bytes < pieceBytes) continue
    const all = Buffer.concat(waiting)
    const whole = bytes - (bytes % pieceBytes)
    for (let from = 0; from < whole; from += pieceBytes) yield all.subarray(from, from + pieceBytes)
    waiting = [all.subarray(whole)]
    bytes -= whole
  }
  if (bytes > 0) yield Buffer.concat(waiting)
}
