// Streaming CSV (RFC 4180): chunks may end anywhere; line ends are CR, LF or both; blank lines and a byte order mark are skipped.

export interface CsvRecord {
  /** Undefined: nothing between the commas; empty text: `""`. */
  cells: (string | undefined)[]
  /** Byte offset of the record. */
  start: number
  /** Byte offset after its line end. */
  end: number
}

export class CsvMistake extends Error {}

const comma = 0x2c
const quote = 0x22
const cr = 0x0d
const lf = 0x0a
const space = 0x20
const tab = 0x09
const byteOrderMark = [0xef, 0xbb, 0xbf]

// More is a quote that was never closed.
const maxRecordBytes = 1_000_000
// Columns are compared with each other.
const maxCells = 10_000

// A longer incomplete row is parsed again only when it has doubled.
const longRowBytes = 65_536

const isLineEnd = (byte: number | undefined) => byte === cr || byte === lf
const isBlank = (byte: number | undefined) => byte === space || byte === tab

/** Other programs use these instead of a comma. */
export const otherSeparator = /[;\t|]/

export const commasOnly = 'cells must be separated by commas, and numbers must have a decimal point'

interface Span {
  from: number
  to: number
  quoted: boolean
  /** Contains doubled quotes. */
  doubled: boolean
}

interface RecordSpans {
  spans: Span[]
  next: number
}

const passBlanks = (bytes: Buffer, from: number) => {
  let at = from
  while (isBlank(bytes[at])) at += 1
  return at
}

/** `from` is after the opening quote. Undefined: incomplete. */
const quotedSpan = (bytes: Buffer, from: number, isLast: boolean): Span | undefined => {
  let at = from
  for (let doubled = false; ; doubled = true) {
    const to = bytes.indexOf(quote, at)
    if (to < 0 && isLast) throw new CsvMistake('a quote is not closed')
    if (to < 0 || (to + 1 === bytes.length && !isLast)) return undefined
    if (bytes[to + 1] !== quote) return { from, to, quoted: true, doubled }
    at = to + 2
  }
}

const plainSpan = (bytes: Buffer, from: number): Span => {
  let to = from
  while (to < bytes.length && bytes[to] !== comma && !isLineEnd(bytes[to])) to += 1
  return { from, to, quoted: false, doubled: false }
}

const spanAt = (bytes: Buffer, from: number, isLast: boolean) => {
  const start = passBlanks(bytes, from)
  return bytes[start] === quote ? quotedSpan(bytes, start + 1, isLast) : plainSpan(bytes, from)
}

/** `from` is not a line end. Undefined: incomplete. */
const findRecord = (bytes: Buffer, from: number, isLast: boolean): RecordSpans | undefined => {
  const spans: Span[] = []
  let at = from
  for (;;) {
    const span = spanAt(bytes, at, isLast)
    if (!span) return undefined
    spans.push(span)
    if (spans.length > maxCells) throw new CsvMistake(`a row has more than ${maxCells} cells`)
    const behind = span.quoted ? passBlanks(bytes, span.to + 1) : span.to
    if (behind === bytes.length) return isLast ? { spans, next: behind } : undefined
    if (isLineEnd(bytes[behind])) return { spans, next: behind + 1 }
    if (bytes[behind] !== comma) {
      const isOther = otherSeparator.test(bytes.toString('latin1', behind, behind + 1))
      throw new CsvMistake(isOther ? commasOnly : 'text follows a closing quote')
    }
    at = behind + 1
  }
}

/** In ASCII bytes are characters: the record is decoded at once. */
const cellsOf = (bytes: Buffer, from: number, { spans, next }: RecordSpans) => {
  const whole = bytes.toString('utf8', from, next)
  const isAscii = whole.length === next - from
  return spans.map((span) => {
    if (span.from === span.to) return span.quoted ? '' : undefined
    const text = isAscii
      ? whole.slice(span.from - from, span.to - from)
      : bytes.toString('utf8', span.from, span.to)
    return span.doubled ? text.replaceAll('""', '"') : text
  })
}

export const createCsvParser = () => {
  let rest: Buffer = Buffer.alloc(0)
  /** Chunks after `rest` that were not parsed yet. */
  let held: Uint8Array[] = []
  let heldBytes = 0
  /** Bytes before `rest`. */
  let passed = 0

  const takeHeld = () => {
    const [first] = held
    const isOne = first && rest.length === 0 && held.length === 1
    const bytes = isOne
      ? Buffer.from(first.buffer, first.byteOffset, first.length)
      : Buffer.concat([rest, ...held])
    held = []
    heldBytes = 0
    return bytes
  }

  const beginning = (bytes: Buffer) =>
    passed === 0 && byteOrderMark.every((byte, index) => bytes[index] === byte) ? byteOrderMark.length : 0

  const parse = (bytes: Buffer, isLast: boolean) => {
    const records: CsvRecord[] = []
    let at = beginning(bytes)
    for (;;) {
      while (isLineEnd(bytes[at])) at += 1
      const found = at < bytes.length ? findRecord(bytes, at, isLast) : undefined
      if (!found) break
      records.push({ cells: cellsOf(bytes, at, found), start: passed + at, end: passed + found.next })
      at = found.next
    }
    if (bytes.length - at > maxRecordBytes) {
      throw new CsvMistake(`a row is longer than ${maxRecordBytes} bytes`)
    }
    rest = bytes.subarray(at)
    passed += at
    return records
  }

  return {
    push(piece: Uint8Array): CsvRecord[] {
      held.push(piece)
      heldBytes += piece.length
      if (rest.length > longRowBytes && heldBytes < rest.length) return []
      const bytes = takeHeld()
      // An incomplete byte order mark could be text.
      if (passed === 0 && bytes.length < byteOrderMark.length) {
        rest = bytes
        return []
      }
      return parse(bytes, false)
    },
    /** The last record without a line end. */
    end: () => parse(takeHeld(), true),
  }
}
