import { getRandomValues } from 'node:crypto'

/** Numbers below `size`, drawn evenly by the system's generator, which also returns the number of different ones. */
export const createKeyDraw = (size: number) => {
  const block = new Uint32Array(16_384)
  const seen = new Uint8Array(size)
  let used = block.length
  let distinct = 0
  return {
    next() {
      if (used === block.length) {
        getRandomValues(block)
        used = 0
      }
      const index = (block[used++] as number) % size
      if (seen[index] === 0) {
        seen[index] = 1
        distinct += 1
      }
      return index
    },
    distinct: () => distinct,
  }
}
