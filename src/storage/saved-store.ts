/** In memory at once. */
export const pieceBytes = 8_388_608

export interface StoreCopy {
  upgrade: number
  /** By table. */
  counts: Record<string, number>
  pieces: AsyncIterable<Buffer>
  close(): Promise<void>
}

/** Why a copy cannot be made or restored; nothing was changed. */
export class Refusal extends Error {}

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
