// JSON of switches: bare `nan` and `inf`, `1.#INF` of Windows, unescaped texts of callers, and NUL at the end of texts.

// Out of range, so that validation rejects it: null would hide that a value was sent.
const outOfRange = '1e999'
const noNumber = /-?(?:nan(?:\([a-z0-9]*\))?|inf(?:inity)?|\d+\.#[a-z0-9]+)(?=[\0\s,\]}]|$)/iy
const validEscape = /^\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/
// What follows a string in JSON without spaces, as switches write it.
const afterString = /^(?:,["{[\dtfnNiI-]|:["{[\dtfnNiI-]|[}\]](?:[,}\]\0]|$))/

const plainInside = /[ !#-[\]-\uffff]+/y
const plainBetween = /[^\0"\din-]+|\d+/iy

const foundAt = (pattern: RegExp, text: string, at: number) => {
  pattern.lastIndex = at
  return pattern.exec(text)?.[0]
}

type Written = [written: string, taken: number]

/** Returns the replacement of the text at a position in a string, and the number of characters it replaces. */
const inString = (text: string, at: number): Written => {
  const plain = foundAt(plainInside, text, at)
  if (plain !== undefined) return [plain, plain.length]
  const sign = text.charAt(at)
  if (sign < ' ') return [`\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`, 1]
  if (sign === '"') return ['\\"', 1]
  if (sign !== '\\') return [sign, 1]
  const found = validEscape.exec(text.slice(at, at + 6))?.[0]
  return found === undefined ? ['\\\\', 1] : [found, found.length]
}

const betweenStrings = (text: string, at: number): Written => {
  const found = foundAt(noNumber, text, at)
  if (found !== undefined) return [outOfRange, found.length]
  const plain = foundAt(plainBetween, text, at) ?? text.charAt(at)
  return [plain === '\0' ? ' ' : plain, plain.length]
}

type EndsString = (text: string, at: number) => boolean

const everyQuote: EndsString = () => true
const whereJsonContinues: EndsString = (text, at) => afterString.test(text.slice(at + 1, at + 3))

const repaired = (text: string, endsString: EndsString) => {
  const pieces: string[] = []
  let isInside = false
  let at = 0
  while (at < text.length) {
    const isEdge = text.charAt(at) === '"' && (!isInside || endsString(text, at))
    if (isEdge) isInside = !isInside
    const inner = isInside ? inString : betweenStrings
    const [written, taken] = isEdge ? ['"', 1] : inner(text, at)
    pieces.push(written)
    at += taken
  }
  return pieces.join('')
}

interface Parsed {
  value: unknown
  isRepaired: boolean
}

const firstThatParses = (text: string, repairs: readonly (() => string)[]): Parsed => {
  try {
    return { value: JSON.parse(text), isRepaired: false }
  } catch (error) {
    for (const repair of repairs) {
      try {
        return { value: JSON.parse(repair()), isRepaired: true }
      } catch {
        // The next repair assumes less about the text.
      }
    }
    throw error
  }
}

/**
 * Parses JSON. If it is invalid, `nan`, `inf` and `1.#IND` become Infinity, control characters and wrong escapes in
 * strings are escaped, and NUL between strings becomes a space. Throws the error of JSON.parse if that does not help.
 */
export const parseLeniently = (text: string): Parsed =>
  firstThatParses(text, [() => repaired(text, everyQuote)])

/**
 * Also repairs raw quotes in strings: FreeSWITCH with `encode` and `encode-values` both on writes them. A quote ends a
 * string only where JSON can continue.
 */
export const parseWithRawQuotes = (text: string): Parsed =>
  firstThatParses(text, [() => repaired(text, everyQuote), () => repaired(text, whereJsonContinues)])
