import { setImmediate as nextTurn } from 'node:timers/promises'
import { RawJson } from './answers.ts'

// JSON with line breaks and two blanks a level, written while it comes: the same text as `JSON.stringify(value, null, 2)`.

const special = /["[\]{},:]/g

const indented = (depth: number) => `\n${'  '.repeat(depth)}`

const endOfString = (text: string, from: number) => {
  let at = from
  for (;;) {
    at = text.indexOf('"', at)
    if (at < 0) throw new Error('a piece of JSON ends within a string')
    let slashes = 0
    while (text[at - 1 - slashes] === '\\') slashes += 1
    at += 1
    if (slashes % 2 === 0) return at
  }
}

/** Takes compact JSON in pieces that end between its tokens. */
export const createPrettyPrinter = () => {
  let depth = 0
  // An object or list that has just begun: one without content stays on its line.
  let isFresh = false

  const open = (bracket: string) => {
    const text = content() + bracket
    depth += 1
    isFresh = true
    return text
  }

  const close = (bracket: string) => {
    depth -= 1
    const text = isFresh ? bracket : indented(depth) + bracket
    isFresh = false
    return text
  }

  /** What stands before the first thing within brackets. */
  const content = () => {
    if (!isFresh) return ''
    isFresh = false
    return indented(depth)
  }

  const marks: Record<string, (mark: string) => string> = {
    '{': open,
    '[': open,
    '}': close,
    ']': close,
    ',': () => `,${indented(depth)}`,
    ':': () => ': ',
  }

  return (piece: string): string => {
    let written = ''
    let at = 0
    while (at < piece.length) {
      special.lastIndex = at
      const found = special.exec(piece)
      const until = found?.index ?? piece.length
      if (until > at) written += content() + piece.slice(at, until)
      if (!found) return written
      const [mark] = found
      if (mark === '"') {
        at = endOfString(piece, until + 1)
        written += content() + piece.slice(until, at)
      } else {
        at = until + 1
        written += marks[mark]?.(mark) ?? mark
      }
    }
    return written
  }
}

export const prettyPrinted = (json: string) => `${createPrettyPrinter()(json)}\n`

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
