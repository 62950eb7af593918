import { elementAt } from '../lib/list.ts'
import type { Value } from './db.ts'

// Writes on their way to the writer's thread. Their values go as one flat list and everything else as whole numbers:
// copying that from thread to thread costs a third of copying statements as nested arrays.

/** A statement: the number of its text, its values, and the rows it must touch (or any). */
export interface PostedStatement {
  text: number
  params: readonly Value[]
  rows: number | undefined
}

export interface PostedWrites {
  /** For each write the number of its statements, and for each of these: text, number of values, rows or -1. */
  plan: Int32Array
  values: Value[]
}

const anyRows = -1

/** In place of the number of a text: a row of the audit log, which gets its place as it is added. */
export const placedText = -1

/** Gathers writes to be posted together. */
export const createPosting = () => {
  const plan: number[] = []
  const values: Value[] = []
  let countAt = 0

  return {
    beginWrite() {
      countAt = plan.length
      plan.push(0)
    },
    add(text: number, params: readonly Value[], rows: number | undefined) {
      plan[countAt] = elementAt(plan, countAt) + 1
      plan.push(text, params.length, rows ?? anyRows)
      for (const value of params) values.push(value)
    },
    posted: (): PostedWrites => ({ plan: Int32Array.from(plan), values }),
  }
}

/** The statements of each write. */
export const readPosted = ({ plan, values }: PostedWrites): PostedStatement[][] => {
  const writes: PostedStatement[][] = []
  let valueAt = 0
  let at = 0
  while (at < plan.length) {
    const statements: PostedStatement[] = []
    for (let left = plan[at++] as number; left > 0; left -= 1) {
      const [text, count, rows] = [plan[at++], plan[at++], plan[at++]] as [number, number, number]
      const params = values.slice(valueAt, valueAt + count)
      valueAt += count
      statements.push({ text, params, rows: rows === anyRows ? undefined : rows })
    }
    writes.push(statements)
  }
  return writes
}
