import { setImmediate as nextTurn } from 'node:timers/promises'
import { RawJson } from './answers.ts'

// Data of an answer that is no list, and long nevertheless: a chart, a book by account. Its JSON is made piece by piece.

const maxSmall = 1000

/** Whether a value has more members, on all levels, than JSON is made of at once. */
export const isLarge = (data: unknown): boolean => {
  let left = maxSmall
  const looksLarge = (value: unknown): boolean => {
    if (typeof value !== 'object' || value === null || value instanceof RawJson) return false
    const members = Array.isArray(value) ? value : Object.values(value)
    left -= members.length
    return left < 0 || members.some(looksLarge)
  }
  return looksLarge(data)
}

/** What the text of a long value takes, by what it begins with. */
export const roughBytesOf = (data: unknown) => {
  const members = typeof data === 'object' && data !== null ? Object.values(data) : []
  const lists = [data, ...members].filter((value) => Array.isArray(value))
  return lists.reduce((sum, list) => sum + list.length * (JSON.stringify(list[0]) ?? '').length, 0)
}

/** JSON of a value, member by member where there are many. */
function* textsOf(value: unknown): Generator<string> {
  if (!isLarge(value)) {
    yield JSON.stringify(value ?? null)
    return
  }
  let separator = ''
  if (Array.isArray(value)) {
    yield '['
    for (const item of value) {
      yield separator
      yield* textsOf(item)
      separator = ','
    }
    yield ']'
    return
  }
  yield '{'
  for (const [key, member] of Object.entries(value as object)) {
    if (member === undefined) continue
    yield `${separator}${JSON.stringify(key)}:`
    yield* textsOf(member)
    separator = ','
  }
  yield '}'
}

const pieceLength = 60_000

/** The same in pieces of some size, between which the event loop has its turn. */
export async function* largePieces(data: unknown): AsyncGenerator<string> {
  let piece = ''
  for (const text of textsOf(data)) {
    piece += text
    if (piece.length < pieceLength) continue
    yield piece
    piece = ''
    await nextTurn()
  }
  yield piece
}
