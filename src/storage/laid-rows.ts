// Rows between being made and being written. Thousands of them wait for the disk at a time, and as objects they would outlive every
// collection of the young generation: copied twice, and then looked at again and again. As bytes nobody looks at them, and they go to
// the thread that writes as they lie.
import type { Value } from './db.ts'
import { giveBack } from './give-back.ts'

type Cells = Readonly<Record<string, string | number | null>>

/** What a cell of a laid row is, where that is not the length of a text in UTF-16 code units. */
export const laidNull = -1
export const laidNumber = -2

/** A row of a room: for each column what it is, its numbers, and its texts one behind the other, in UTF-8. */
export interface LaidRow {
  columns: readonly string[]
  shapes: Int32Array
  firstShape: number
  numbers: Float64Array
  firstNumber: number
  numberCount: number
  texts: Buffer
  from: number
  to: number
  /** How often its room had been cleared when it was laid down. */
  clearings: number
  room: { clearings: number }
}

/** Whoever asks for a row after its room was cleared would get the bytes of another. */
export const assertThere = ({ clearings, room }: LaidRow) => {
  if (room.clearings !== clearings) throw new Error('a row is asked for whose room has been cleared')
}

/** The values of a row of so many columns, in their order. */
export const laidValues = (
  {
    shapes,
    firstShape,
    numbers,
    firstNumber,
    texts,
    from,
    to,
  }: Omit<LaidRow, 'columns' | 'numberCount' | 'clearings' | 'room'>,
  columnCount: number,
): Value[] => {
  const whole = texts.toString('utf8', from, to)
  const values: Value[] = []
  let [begin, number] = [0, firstNumber]
  for (let at = firstShape; at < firstShape + columnCount; at += 1) {
    const shape = shapes[at] as number
    if (shape === laidNull) values.push(null)
    else if (shape === laidNumber) {
      values.push(numbers[number] as number)
      number += 1
    } else {
      values.push(whole.slice(begin, begin + shape))
      begin += shape
    }
  }
  return values
}

/** Room for some rows: as many as have their cells noted, and as many as have their texts there. */
interface Block {
  shapes: Int32Array<ArrayBuffer>
  numbers: Float64Array<ArrayBuffer>
  texts: Buffer<ArrayBuffer>
}

// Most who come bring few rows, and some bring thousands: each block has twice the room of the one before, up to a bound.
const firstRows = 16
const mostRows = 512
const bytesOfRow = 2048
const mostBytesOfUnit = 3
// A room that is used again keeps so many blocks at most.
const keptBlocks = 12

export type RowRoom = ReturnType<typeof createRowRoom>

/** Room for rows of these columns, which grows with them. What it holds is gone when it is cleared. */
export const createRowRoom = (columns: readonly string[]) => {
  const blocks: Block[] = []
  const room = { clearings: 0 }
  let [current, shapesUsed, numbersUsed, bytesUsed] = [-1, 0, 0, 0]

  /** The next block, with so many bytes at least. */
  const nextBlock = (bytes: number): Block => {
    current += 1
    shapesUsed = 0
    numbersUsed = 0
    bytesUsed = 0
    const next = blocks[current]
    if (next && bytes <= next.texts.length) return next
    const rows = Math.min(mostRows, firstRows * 2 ** Math.min(current, 16))
    const made = {
      shapes: new Int32Array(rows * columns.length),
      numbers: new Float64Array(rows * columns.length),
      texts: Buffer.allocUnsafeSlow(Math.max(bytes, rows * bytesOfRow)),
    }
    blocks.splice(current, 0, made)
    return made
  }

  /** Whether the texts, of so many code units, have room behind those that are there. */
  const hasRoom = ({ shapes, texts }: Block, whole: string) => {
    if (shapesUsed === shapes.length) return false
    const left = texts.length - bytesUsed
    return whole.length * mostBytesOfUnit <= left || Buffer.byteLength(whole) <= left
  }

  const blockFor = (whole: string) => {
    const block = blocks[current]
    return block && hasRoom(block, whole) ? block : nextBlock(Buffer.byteLength(whole))
  }

  const note = ({ shapes, numbers }: Block, row: Cells) => {
    for (const column of columns) {
      const value = row[column] ?? null
      if (value === null) shapes[shapesUsed] = laidNull
      else if (typeof value === 'number') {
        shapes[shapesUsed] = laidNumber
        numbers[numbersUsed] = value
        numbersUsed += 1
      } else shapes[shapesUsed] = value.length
      shapesUsed += 1
    }
  }

  const textsOf = (row: Cells) => {
    let texts = ''
    for (const column of columns) {
      const value = row[column]
      if (typeof value === 'string') texts += value
    }
    return texts
  }

  /** Empties the room, of which so many blocks are kept. */
  const empty = (kept: number) => {
    for (const block of blocks.splice(kept)) for (const part of Object.values(block)) giveBack(part)
    room.clearings += 1
    current = -1
    shapesUsed = 0
    numbersUsed = 0
    bytesUsed = 0
  }

  return {
    /** Undefined for a row that cannot be laid down: half of a surrogate pair has no bytes of its own. */
    lay(row: Cells): LaidRow | undefined {
      const whole = textsOf(row)
      if (!whole.isWellFormed()) return undefined
      const block = blockFor(whole)
      const [firstShape, firstNumber, from] = [shapesUsed, numbersUsed, bytesUsed]
      note(block, row)
      bytesUsed += block.texts.write(whole, from)
      return {
        columns,
        shapes: block.shapes,
        firstShape,
        numbers: block.numbers,
        firstNumber,
        numberCount: numbersUsed - firstNumber,
        texts: block.texts,
        from,
        to: bytesUsed,
        clearings: room.clearings,
        room,
      }
    },

    clear: () => empty(keptBlocks),

    /** Gives its memory back. */
    close: () => empty(0),
  }
}
