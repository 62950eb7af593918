import type { Value } from './db.ts'

// Writes on their way to the writer's thread. Texts go as one flat list and everything else as numbers, which are copied
// from thread to thread as they lie: a list of all values takes several times as long. What a statement has in the same
// place as the last one of its text in its write goes once, as the account of all rows of a batch.

/** A statement: the number of its text, its values, and the rows it must touch (or any). */
export interface PostedStatement {
  text: number
  params: readonly Value[]
  rows: number | undefined
}

export interface PostedWrites {
  /** For each write the number of its statements, and for each of these: text, number of values, rows or -1, and what each value is. */
  plan: Int32Array
  numbers: Float64Array
  /** Texts and bytes. */
  others: readonly Value[]
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

/** Gathers writes to be posted together, again and again. */
export const createPosting = () => {
  const plan = createNumbers((length) => new Int32Array(length))
  const numbers = createNumbers((length) => new Float64Array(length))
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
    take(): PostedWrites {
      const taken = { plan: plan.take(), numbers: numbers.take(), others }
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

/** Where a write begins, and how many statements it has. */
interface Begin {
  at: number
  numberAt: number
  otherAt: number
  length: number
}

const numbersOfStatement = 3

const postedWrite = ({ plan, numbers, others }: PostedWrites, begin: Begin): PostedWrite => ({
  length: begin.length,
  hasText(wanted: number) {
    let { at } = begin
    for (let index = 0; index < begin.length; index += 1) {
      if (plan[at] === wanted) return true
      at += numbersOfStatement + (plan[at + 1] as number)
    }
    return false
  },
  *statements(): Generator<PostedStatement> {
    const before = new Map<number, readonly Value[]>()
    let { at, numberAt, otherAt } = begin
    for (let index = 0; index < begin.length; index += 1) {
      const [text, count, rows] = [plan[at++], plan[at++], plan[at++]] as [number, number, number]
      const earlier = before.get(text) ?? noValues
      const params: Value[] = []
      for (let place = 0; place < count; place += 1) {
        const kind = plan[at++]
        if (kind === isNull) params.push(null)
        else if (kind === isNumber) params.push(numbers[numberAt++] as number)
        else params.push((kind === isOther ? others[otherAt++] : earlier[place]) as Value)
      }
      before.set(text, params)
      yield { text, params, rows: rows === anyRows ? undefined : rows }
    }
  },
})

/** Each write. */
export const readPosted = (posted: PostedWrites): PostedWrite[] => {
  const { plan } = posted
  const writes: PostedWrite[] = []
  let [at, numberAt, otherAt] = [0, 0, 0]
  while (at < plan.length) {
    const length = plan[at++] as number
    writes.push(postedWrite(posted, { at, numberAt, otherAt, length }))
    for (let index = 0; index < length; index += 1) {
      const end = at + numbersOfStatement + (plan[at + 1] as number)
      for (at += numbersOfStatement; at < end; at += 1) {
        if (plan[at] === isNumber) numberAt += 1
        else if (plan[at] === isOther) otherAt += 1
      }
    }
  }
  return writes
}
