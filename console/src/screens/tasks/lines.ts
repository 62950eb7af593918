import { createCsvReader } from '@crosspoint/client'

export type Cells = readonly string[]

/** Reads a CSV row by row until `take` returns true, and ends the transfer there. Returns the header. */
export const readLines = async (
  bytes: ReadableStream<Uint8Array>,
  take: (cells: Cells, number: number, header: Cells) => boolean,
): Promise<Cells> => {
  const reader = createCsvReader()
  const decoder = new TextDecoder()
  let header: Cells | undefined
  let number = 0
  /** Whether more is wanted. */
  const read = (lines: readonly Cells[]) => {
    for (const cells of lines) {
      if (header === undefined) {
        header = cells
        continue
      }
      number += 1
      if (take(cells, number, header)) return false
    }
    return true
  }
  const chunks = bytes.getReader()
  for (;;) {
    const { done, value } = await chunks.read()
    const goesOn = read(reader.take(decoder.decode(value, { stream: !done })))
    if (done) {
      if (goesOn) read(reader.end())
      return header ?? []
    }
    if (!goesOn) {
      await chunks.cancel()
      return header ?? []
    }
  }
}
