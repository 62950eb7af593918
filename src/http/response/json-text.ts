// JSON with line breaks and two spaces a level, as `JSON.stringify(value, null, 2)` writes it, for streams.

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

/** Takes compact JSON in pieces that end between tokens. */
export const createPrettyPrinter = () => {
  let depth = 0
  // An empty object or list stays on one line.
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
