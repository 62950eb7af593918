// Values of a column as PostgreSQL takes an array in its binary form (array_recv in its src/backend/utils/adt/arrayfuncs.c):
// written as text each quote of a JSON document would be escaped here, and looked for there.
import type { Value } from './db.ts'
import { giveBack } from './give-back.ts'
import { assertThere, type LaidRow, laidNull, laidNumber, laidValues } from './laid-rows.ts'

export type ElementType = 'text' | 'integer'

/** How a statement names the arrays of such values. */
export const arrayTypes: Readonly<Record<ElementType, string>> = { text: 'text[]', integer: 'bigint[]' }

// Their types' numbers in pg_type.
const elementOids: Readonly<Record<ElementType, number>> = { text: 25, integer: 20 }

// Of one dimension: how many of these, whether a null is among them, the elements' type; their number, and the first one's.
const headerBytes = 20
const lengthBytes = 4
const integerBytes = 8
const lengthOfNull = -1
const mostBytesOfUnit = 3
// Of longer ones it is looked at first how many bytes they have.
const longUnits = 4096
// Shorter ones are copied faster one by one than by a call.
const shortBytes = 24
const bytesOfRow = 24
const twoTo32 = 2 ** 32

/** Whether a column of `bigint` holds it: money and its sums may be beyond what a number counts one by one. */
const isBigint = (value: Value): value is number =>
  typeof value === 'number' && Number.isInteger(value) && value >= -(2 ** 63) && value < 2 ** 63

/** Whether its memory is that of others as well: small buffers are cut from one. */
const isShared = (bytes: Buffer) => bytes.length < bytes.buffer.byteLength

class ArrayWriter {
  readonly #type: ElementType
  #bytes: Buffer<ArrayBuffer>
  #length = headerBytes
  #count = 0
  #hasNull = 0

  constructor(type: ElementType, count: number) {
    this.#type = type
    this.#bytes = Buffer.allocUnsafe(headerBytes + count * bytesOfRow)
  }

  #makeRoom(bytes: number) {
    const least = this.#length + bytes
    if (least <= this.#bytes.length) return
    const larger = Buffer.allocUnsafeSlow(Math.max(2 * this.#bytes.length, least))
    this.#bytes.copy(larger, 0, 0, this.#length)
    if (!isShared(this.#bytes)) giveBack(this.#bytes)
    this.#bytes = larger
  }

  #addLength(bytes: number) {
    this.#bytes.writeInt32BE(bytes, this.#length)
    this.#length += lengthBytes
    this.#count += 1
  }

  #addNull() {
    this.#makeRoom(lengthBytes)
    this.#addLength(lengthOfNull)
    this.#hasNull = 1
  }

  #addInteger(value: number) {
    this.#makeRoom(lengthBytes + integerBytes)
    this.#addLength(integerBytes)
    this.#bytes.writeInt32BE(Math.floor(value / twoTo32), this.#length)
    this.#bytes.writeInt32BE(value | 0, this.#length + integerBytes / 2)
    this.#length += integerBytes
  }

  #addText(value: string) {
    const bytes = value.length > longUnits ? Buffer.byteLength(value) : value.length * mostBytesOfUnit
    this.#makeRoom(lengthBytes + bytes)
    const written = this.#bytes.write(value, this.#length + lengthBytes)
    this.#addLength(written)
    this.#length += written
  }

  /** False when the value is not of the array's type. */
  add(value: Value): boolean {
    if (value === null) this.#addNull()
    else if (this.#type === 'text') {
      if (typeof value === 'object') return false
      this.#addText(String(value))
    } else if (isBigint(value)) this.#addInteger(value)
    else return false
    return true
  }

  /** A text, which is from and to there in `source` in UTF-8. */
  addBytes(source: Buffer, from: number, to: number) {
    const bytes = to - from
    this.#makeRoom(lengthBytes + bytes)
    this.#addLength(bytes)
    if (bytes > shortBytes) source.copy(this.#bytes, this.#length, from, to)
    else for (let at = 0; at < bytes; at += 1) this.#bytes[this.#length + at] = source[from + at] as number
    this.#length += bytes
  }

  end(): Buffer {
    const oid = elementOids[this.#type]
    const header = this.#count === 0 ? [0, 0, oid] : [1, this.#hasNull, oid, this.#count, 1]
    for (const [index, field] of header.entries()) this.#bytes.writeInt32BE(field, index * lengthBytes)
    return this.#bytes.subarray(0, this.#count === 0 ? header.length * lengthBytes : this.#length)
  }
}

/** The values as one parameter. Where one is not of the type they stay as they are, and the server judges them as text. */
export const arrayOf = (type: ElementType, values: readonly Value[]): Buffer | readonly Value[] => {
  const writer = new ArrayWriter(type, values.length)
  return values.every((value) => writer.add(value)) ? writer.end() : values
}

/** A row as its values, or as it was laid down. */
export type ArrayRow = readonly Value[] | LaidRow

const isLaid = (row: ArrayRow): row is LaidRow => 'shapes' in row

/** How many UTF-16 code units its texts have: as many as bytes, when all of them are ASCII. */
const unitsOf = ({ shapes, firstShape, columns }: LaidRow) => {
  let units = 0
  for (let at = firstShape; at < firstShape + columns.length; at += 1)
    units += Math.max(0, shapes[at] as number)
  return units
}

/** Arrays of the columns of many rows, which have a value for each of these types. Throws where one is not of its type. */
export const columnArrays = (types: readonly ElementType[], rows: readonly ArrayRow[]): Buffer[] => {
  const writers = types.map((type) => new ArrayWriter(type, rows.length))

  const refuse = (column: number, what: string) => {
    throw new TypeError(`column ${column} is of type ${types[column]} and cannot hold ${what}`)
  }

  const addValues = (values: readonly Value[]) => {
    for (const [column, writer] of writers.entries()) {
      const value = values[column] ?? null
      if (!writer.add(value)) refuse(column, `${value}`)
    }
  }

  /** Its bytes as they lie. */
  const addAscii = ({ shapes, firstShape, numbers, firstNumber, texts, from }: LaidRow) => {
    let [at, number] = [from, firstNumber]
    for (const [column, writer] of writers.entries()) {
      const shape = shapes[firstShape + column] as number
      if (shape === laidNull) writer.add(null)
      else if (shape === laidNumber) {
        const value = numbers[number++] as number
        if (!writer.add(value)) refuse(column, `${value}`)
      } else {
        if (types[column] !== 'text') refuse(column, 'text')
        writer.addBytes(texts, at, at + shape)
        at += shape
      }
    }
  }

  for (const row of rows) {
    if (!isLaid(row)) addValues(row)
    else {
      assertThere(row)
      if (unitsOf(row) === row.to - row.from) addAscii(row)
      else addValues(laidValues(row, row.columns.length))
    }
  }
  return writers.map((writer) => writer.end())
}
