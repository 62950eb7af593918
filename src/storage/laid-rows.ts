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
}

/** The values of a row of so many columns, in their order. */
export const laidValues = (
  { shapes, firstShape, numbers, firstNumber, texts, from, to }: Omit<LaidRow, 'columns' | 'numberCount'>,
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

// Texts of a row lie in one piece.
const pieceBytes = 1 << 20
const mostBytesOfUnit = 3

export type RowRoom = ReturnType<typeof createRowRoom>

/** Room for so many rows of these columns; what it holds is gone when it is cleared. */
export const createRowRoom = (columns: readonly string[], mostRows: number) => {
  const shapes = new Int32Array(mostRows * columns.length)
  const numbers = new Float64Array(mostRows * columns.length)
  const pieces: Buffer<ArrayBuffer>[] = []
  let [shapesUsed, numbersUsed, piecesFull, used] = [0, 0, 0, 0]

  /** A piece with so many bytes left. */
  const pieceWith = (bytes: number) => {
    const begun = pieces[piecesFull]
    if (begun && used + bytes <= begun.length) return begun
    if (begun) piecesFull += 1
    used = 0
    const next = pieces[piecesFull]
    if (next && bytes <= next.length) return next
    const made = Buffer.allocUnsafeSlow(Math.max(bytes, pieceBytes))
    pieces.splice(piecesFull, 0, made)
    return made
  }

  /** Notes what the cells are. Answers with those that are texts, one behind the other. */
  const note = (row: Cells) => {
    let texts = ''
    for (const column of columns) {
      const value = row[column] ?? null
      if (value === null) shapes[shapesUsed] = laidNull
      else if (typeof value === 'number') {
        shapes[shapesUsed] = laidNumber
        numbers[numbersUsed] = value
        numbersUsed += 1
      } else {
        shapes[shapesUsed] = value.length
        texts += value
      }
      shapesUsed += 1
    }
    return texts
  }

  return {
    /** Undefined for a row that cannot be laid down: the room is full, or half of a surrogate pair has no bytes of its own. */
    lay(row: Cells): LaidRow | undefined {
      if (shapesUsed === shapes.length) return undefined
      const [firstShape, firstNumber] = [shapesUsed, numbersUsed]
      const whole = note(row)
      if (!whole.isWellFormed()) return undefined
      const texts = pieceWith(whole.length * mostBytesOfUnit)
      const from = used
      used += texts.write(whole, from)
      const numberCount = numbersUsed - firstNumber
      return { columns, shapes, firstShape, numbers, firstNumber, numberCount, texts, from, to: used }
    },

    clear() {
      shapesUsed = 0
      numbersUsed = 0
      piecesFull = 0
      used = 0
    },

    /** Gives back the memory of the texts. */
    close() {
      for (const piece of pieces.splice(0)) giveBack(piece)
    },
  }
}
