// Splits JSON that arrives in chunks into documents or rows. It only looks at quotes and brackets.

const quote = 0x22
const backslash = 0x5c
const comma = 0x2c
const colon = 0x3a
const curlyOpen = 0x7b
const curlyClose = 0x7d
const squareOpen = 0x5b
const squareClose = 0x5d

export interface Item {
  /** Byte offsets; `end` is exclusive. */
  start: number
  end: number
  /** A row has null instead of its document; an item that is too large has only its beginning. */
  text: string
  doc: string | undefined
  isTooLarge: boolean
}

interface Frame {
  /** With an empty list instead of the items. */
  text: string
  /** The list of items is complete. */
  isWhole: boolean
  /** The text ends within a value. */
  isHalf: boolean
}

interface Shape {
  /**
   * `within`: items are in `rows`, `docs` or `results` of the outermost object. `listed`: they are at the
   * outermost level or in lists there.
   */
  place: 'within' | 'listed'
  /** Items are rows with their document in `doc`. */
  areRows: boolean
  /** Offset of the first pushed byte. */
  offset?: number
  /** Larger items are reported without their content. */
  mostBytes?: number
}

const lists = new Set(['rows', 'docs', 'results'])
const beginningBytes = 4096
// More of it is never needed.
const maxFrameLength = 65_536

const createWindow = () => {
  let held: Buffer = Buffer.alloc(0)
  let length = 0
  return {
    bytes: () => held,
    length: () => length,
    /** Drops the first bytes and appends a chunk. */
    move(gone: number, piece: Uint8Array) {
      held.copyWithin(0, gone, length)
      length = Math.max(0, length - gone)
      if (length + piece.length > held.length) {
        const larger = Buffer.allocUnsafe(Math.max(held.length * 2, length + piece.length))
        held.copy(larger, 0, 0, length)
        held = larger
      }
      held.set(piece, length)
      length += piece.length
    },
  }
}

export const createItemScanner = ({ place, areRows, offset = 0, mostBytes = 64 * 1024 * 1024 }: Shape) => {
  const window = createWindow()
  let bytes = window.bytes()
  let length = 0
  /** The next byte; beyond the window after a trailing backslash. */
  let at = 0
  let origin = offset
  let isInString = false

  let level = 0
  let itemStart = 0
  let beginning: string | undefined
  let stringStart = 0
  let isKey = false
  let isDocNext = false
  let docStart = -1
  let docEnd = -1

  let depth = 0
  let isInList = false
  let hadList = false
  let isEnded = false
  let word = ''
  let frame = ''

  const spell = (start: number, end: number) => bytes.toString('utf8', start, end)

  const itemUpTo = (end: number): Item => {
    const bounds = { start: origin + itemStart, end: origin + end }
    if (beginning !== undefined) return { ...bounds, text: beginning, doc: undefined, isTooLarge: true }
    if (docStart < 0) return { ...bounds, text: spell(itemStart, end), doc: undefined, isTooLarge: false }
    const text = `${spell(itemStart, docStart)}null${spell(docEnd, end)}`
    return { ...bounds, text, doc: spell(docStart, docEnd).trim(), isTooLarge: false }
  }

  /** Finds the member `doc` of a row. */
  const watchRow = (byte: number, place: number) => {
    if (byte === quote) {
      isDocNext = isKey && place - stringStart === 3 && spell(stringStart, place) === 'doc'
      isKey = false
    } else if (byte === colon) {
      if (isDocNext) docStart = place + 1
      isDocNext = false
    } else {
      if (docStart >= 0 && docEnd < 0) docEnd = place
      isKey = true
    }
  }

  /** Continues to the end of the item or the window. The hot loop. */
  const walkItem = () => {
    const held = bytes
    const end = length
    let next = at
    let inString = isInString
    let deep = level
    while (next < end && deep > 0) {
      if (inString) {
        // Most bytes are in strings.
        let byte = held[next]
        while (byte !== quote && next < end) {
          next += byte === backslash ? 2 : 1
          byte = held[next]
        }
        if (next >= end) break
        inString = false
        if (areRows && deep === 1) watchRow(quote, next)
      } else {
        const byte = held[next]
        if (byte === quote) {
          inString = true
          if (areRows && deep === 1) stringStart = next + 1
        } else if (byte === curlyOpen || byte === squareOpen) deep += 1
        else if (byte === curlyClose || byte === squareClose) {
          if (areRows && deep === 1) watchRow(curlyClose, next)
          deep -= 1
        } else if (areRows && deep === 1 && (byte === comma || byte === colon)) watchRow(byte, next)
      }
      next += 1
    }
    at = next
    isInString = inString
    level = deep
  }

  const beginItem = () => {
    level = 1
    itemStart = at
    beginning = undefined
    isKey = true
    isDocNext = false
    docStart = -1
    docEnd = -1
    at += 1
  }

  const opensItem = () =>
    place === 'within' ? isInList && depth === 2 : depth === 0 || (isInList && depth === 1)

  const opensList = () => (place === 'within' ? depth === 1 && lists.has(word) && !hadList : depth === 0)

  const open = (byte: number) => {
    if (byte === squareOpen && opensList()) {
      isInList = true
      hadList = true
    }
    depth += 1
  }

  const close = () => {
    depth = Math.max(0, depth - 1)
    if (depth === (place === 'within' ? 1 : 0)) isInList = false
    if (depth === 0) isEnded = true
  }

  const walkBetween = () => {
    const byte = bytes[at] ?? 0
    const isFrame = place === 'within' && !isEnded && frame.length < maxFrameLength
    const from = at
    const wasInList = isInList
    if (isInString) {
      if (byte === backslash) at += 1
      else if (byte === quote) {
        isInString = false
        word = spell(stringStart, at)
      }
    } else if (byte === quote) {
      isInString = true
      stringStart = at + 1
    } else if (byte === curlyOpen && opensItem()) return beginItem()
    else if (byte === curlyOpen || byte === squareOpen) open(byte)
    else if (byte === curlyClose || byte === squareClose) close()
    if (isFrame && !(wasInList && isInList)) frame += bytes.toString('latin1', from, at + 1)
    at += 1
  }

  /** The number of bytes that are no longer needed. */
  const gone = () => {
    if (level > 0 && beginning === undefined && length - itemStart > mostBytes)
      beginning = spell(itemStart, itemStart + beginningBytes)
    const seen = Math.min(at, length)
    if (level > 0) return beginning === undefined ? Math.min(seen, itemStart) : seen
    return isInString ? Math.min(seen, stringStart) : seen
  }

  const take = (piece: Uint8Array) => {
    const shift = gone()
    window.move(shift, piece)
    bytes = window.bytes()
    length = window.length()
    at -= shift
    origin += shift
    itemStart -= shift
    stringStart -= shift
    if (docStart >= 0) docStart -= shift
    if (docEnd >= 0) docEnd -= shift
  }

  return {
    push(piece: Uint8Array): Item[] {
      const found: Item[] = []
      take(piece)
      while (at < length) {
        if (level === 0) walkBetween()
        else {
          walkItem()
          if (level === 0) found.push(itemUpTo(at))
        }
      }
      return found
    },
    end: (): Frame => ({
      text: frame,
      isWhole: isEnded && hadList,
      isHalf: level > 0 || isInString || depth > 0,
    }),
  }
}
