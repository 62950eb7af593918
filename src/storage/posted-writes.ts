import type { Value } from './db.ts'
import { assertThere, type LaidRow, laidNumber, laidValues } from './laid-rows.ts'

// Writes on their way to the writer's thread. Texts go as one flat list and everything else as numbers, which are copied
// from thread to thread as they lie: a list of all values takes several times as long. What a statement has in the same
// place as the last one of its text in its write goes once, as the account of all rows of a batch. Rows that are laid down already go as they lie.

/** A statement: the number of its text, its values, and the rows it must touch (or any). */
export interface PostedStatement {
  text: number
  params: readonly Value[]
  rows: number | undefined
}

export interface PostedWrites {
  /**
   * For each write the number of its statements, and for each of these: text, number of values, rows or -1, and what each value is.
   * For a laid row `~` of the number stands there, behind the rows its bytes, and then its shapes.
   */
  plan: Int32Array
  numbers: Float64Array
  /** Texts and bytes. */
  others: readonly Value[]
  /** The texts of laid rows. */
  bytes: Uint8Array<ArrayBuffer>
}

const anyRows = -1

/** In place of the number of a text: a row of the audit log, which gets its place as it is added. */
export const placedText = -1

// What a value is: nothing, the next number, the next of the others, or what stood there in the write's last statement of the text.
const isNull = 0
const isNumber = 1
const isOther = 2
const isAsBefore = 3

const noValues: readonly Value[] = []

const firstRoom = 4096
// Of numbers. A larger batch is rare, and its room is given back.
const mostRoom = 256 * 1024

/** Numbers that are gathered again and again, in room that stays: lists that grow leave several times their size as garbage. */
const createNumbers = <Numbers extends Int32Array | Float64Array>(room: (length: number) => Numbers) => {
  let held = room(firstRoom)
  let length = 0
  const grow = () => {
    const larger = room(held.length * 2)
    larger.set(held)
    held = larger
  }
  return {
    push(number: number) {
      if (length === held.length) grow()
      held[length] = number
      length += 1
    },
    append(source: Int32Array | Float64Array, from: number, count: number) {
      while (length + count > held.length) grow()
      held.set(source.subarray(from, from + count), length)
      length += count
    },
    /** One more at a place. */
    increment(place: number) {
      held[place] = (held[place] as number) + 1
    },
    length: () => length,
    clear() {
      length = 0
    },
    /** Those that were gathered, to be kept by whoever takes them. */
    take(): Numbers {
      const taken = held.slice(0, length) as Numbers
      if (held.length > mostRoom) held = room(firstRoom)
      length = 0
      return taken
    },
  }
}

/** Bytes that are gathered and then given away: they come by the megabyte. */
const createBytes = () => {
  let held = new Uint8Array(0)
  let length = 0
  let usual = firstRoom
  return {
    append(source: Uint8Array, from: number, to: number) {
      const needed = length + to - from
      if (needed > held.length) {
        const larger = new Uint8Array(Math.max(2 * held.length, usual, needed))
        larger.set(held.subarray(0, length))
        held = larger
      }
      held.set(source.subarray(from, to), length)
      length = needed
    },
    clear() {
      length = 0
    },
    take(): Uint8Array<ArrayBuffer> {
      usual = Math.max(firstRoom, length)
      const taken = new Uint8Array(held.buffer.transfer(length))
      held = new Uint8Array(0)
      length = 0
      return taken
    },
  }
}

/** Gathers writes to be posted together, again and again. */
export const createPosting = () => {
  const plan = createNumbers((length) => new Int32Array(length))
  const numbers = createNumbers((length) => new Float64Array(length))
  const bytes = createBytes()
  const before = new Map<number, readonly Value[]>()
  let others: Value[] = []
  let countAt = 0

  const addValue = (value: Value, earlier: Value | undefined) => {
    if (value === null) plan.push(isNull)
    else if (typeof value === 'number') {
      plan.push(isNumber)
      numbers.push(value)
    } else if (value === earlier) plan.push(isAsBefore)
    else {
      plan.push(isOther)
      others.push(value)
    }
  }

  return {
    /** Begins anew, whatever was gathered and not taken. */
    begin() {
      plan.clear()
      numbers.clear()
      bytes.clear()
      others = []
    },
    beginWrite() {
      countAt = plan.length()
      plan.push(0)
      // Each write is read by itself.
      before.clear()
    },
    add(text: number, params: readonly Value[], rows: number | undefined) {
      plan.increment(countAt)
      plan.push(text)
      plan.push(params.length)
      plan.push(rows ?? anyRows)
      const earlier = before.get(text) ?? noValues
      for (let at = 0; at < params.length; at += 1) addValue(params[at] as Value, earlier[at])
      before.set(text, params)
    },
    addLaid(text: number, row: LaidRow, rows: number | undefined) {
      assertThere(row)
      plan.increment(countAt)
      plan.push(text)
      plan.push(~row.columns.length)
      plan.push(rows ?? anyRows)
      plan.push(row.to - row.from)
      plan.append(row.shapes, row.firstShape, row.columns.length)
      numbers.append(row.numbers, row.firstNumber, row.numberCount)
      bytes.append(row.texts, row.from, row.to)
    },
    take(): PostedWrites {
      const taken = { plan: plan.take(), numbers: numbers.take(), others, bytes: bytes.take() }
      others = []
      // Nothing of it is kept alive.
      before.clear()
      return taken
    },
  }
}

/** A write whose statements are made as they are asked for: all of them at once would outlive what collects garbage often. */
export interface PostedWrite {
  length: number
  hasText(text: number): boolean
  statements(): Generator<PostedStatement>
}

/** Where one reads: in the plan, and among what it is about. */
interface Place {
  at: number
  numberAt: number
  otherAt: number
  byteAt: number
}

/** What stands before the values of a statement. */
interface Head {
  text: number
  count: number
  rows: number
  /** Of its texts, where it is a laid row. */
  laidBytes: number | undefined
}

const readHead = (plan: Int32Array, place: Place): Head => {
  const [text, count, rows] = [plan[place.at++], plan[place.at++], plan[place.at++]] as [
    number,
    number,
    number,
  ]
  if (count >= 0) return { text, count, rows, laidBytes: undefined }
  return { text, count: ~count, rows, laidBytes: plan[place.at++] as number }
}

const passValues = (plan: Int32Array, place: Place, { count, laidBytes }: Head) => {
  const numeric = laidBytes === undefined ? isNumber : laidNumber
  const end = place.at + count
  for (; place.at < end; place.at += 1) {
    const kind = plan[place.at]
    if (kind === numeric) place.numberAt += 1
    else if (laidBytes === undefined && kind === isOther) place.otherAt += 1
  }
  place.byteAt += laidBytes ?? 0
}

const readValues = (
  { plan, numbers, others }: PostedWrites,
  place: Place,
  count: number,
  earlier: readonly Value[],
) => {
  const params: Value[] = []
  for (let index = 0; index < count; index += 1) {
    const kind = plan[place.at++]
    if (kind === isNull) params.push(null)
    else if (kind === isNumber) params.push(numbers[place.numberAt++] as number)
    else params.push((kind === isOther ? others[place.otherAt++] : earlier[index]) as Value)
  }
  return params
}

const readLaid = ({ plan, numbers, bytes }: PostedWrites, place: Place, head: Head) => {
  const texts = Buffer.from(bytes.buffer)
  const { at: firstShape, numberAt: firstNumber, byteAt: from } = place
  passValues(plan, place, head)
  return laidValues(
    { shapes: plan, firstShape, numbers, firstNumber, texts, from, to: place.byteAt },
    head.count,
  )
}

const postedWrite = (posted: PostedWrites, begin: Readonly<Place>, length: number): PostedWrite => ({
  length,
  hasText(wanted: number) {
    const place = { ...begin }
    for (let index = 0; index < length; index += 1) {
      const head = readHead(posted.plan, place)
      if (head.text === wanted) return true
      place.at += head.count
    }
    return false
  },
  *statements(): Generator<PostedStatement> {
    const before = new Map<number, readonly Value[]>()
    const place = { ...begin }
    for (let index = 0; index < length; index += 1) {
      const head = readHead(posted.plan, place)
      const { text, count, rows, laidBytes } = head
      const isLaid = laidBytes !== undefined
      const params = isLaid
        ? readLaid(posted, place, head)
        : readValues(posted, place, count, before.get(text) ?? noValues)
      if (!isLaid) before.set(text, params)
      yield { text, params, rows: rows === anyRows ? undefined : rows }
    }
  },
})

/** Each write. */
export const readPosted = (posted: PostedWrites): PostedWrite[] => {
  const { plan } = posted
  const writes: PostedWrite[] = []
  const place: Place = { at: 0, numberAt: 0, otherAt: 0, byteAt: 0 }
  while (place.at < plan.length) {
    const length = plan[place.at++] as number
    writes.push(postedWrite(posted, { ...place }, length))
    for (let index = 0; index < length; index += 1) passValues(plan, place, readHead(plan, place))
  }
  return writes
}
