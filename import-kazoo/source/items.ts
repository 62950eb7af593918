// Takes JSON apart that arrives piece by piece: into its documents or rows, of which only one has to be in memory. It
// looks at quotes and brackets alone; commas between the items are nobody's concern here.

const quote = 0x22
const backslash = 0x5c
const comma = 0x2c
const colon = 0x3a
const curlyOpen = 0x7b
const curlyClose = 0x7d
const squareOpen = 0x5b
const squareClose = 0x5d

export interface Item {
  /** Of all bytes, the first one and the one behind the last. */
  start: number
  end: number
  /** Of a row without its document, in the place of which stands null; of an item that is too large the beginning. */
  text: string
  /** Of the document of a row. */
  doc: string | undefined
  isTooLarge: boolean
}

/** What stood around the items. */
interface Frame {
  /** With an empty list in the place of the items. */
  text: string
  /** There was a list of items, and what holds it came to its end. */
  isWhole: boolean
  /** It breaks off within something. */
  isHalf: boolean
}

interface Shape {
  /**
   * `within`: the list `rows`, `docs` or `results` of the outermost object has the items. `listed`: they stand on the
   * outermost level, or in lists there.
   */
  place: 'within' | 'listed'
  /** Items are rows that have their document in a member `doc`. */
  areRows: boolean
  /** Where the bytes begin that will be pushed. */
  offset?: number
  /** Items of more bytes are told of, and not held. */
  mostBytes?: number
}

const lists = new Set(['rows', 'docs', 'results'])
const beginningBytes = 4096
// So much of a frame tells all that is asked of it.
const maxFrameLength = 65_536

/** Bytes as they come, of which those are held that are still needed. */
const createWindow = () => {
  let held: Buffer = Buffer.alloc(0)
  let length = 0
  return {
    bytes: () => held,
    length: () => length,
    /** Lets go of the first ones and takes more behind the last. */
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
  /** The next byte to look at; behind a backslash at the end of a piece it is one that has not come yet. */
  let at = 0
  /** Where the window begins in all bytes. */
  let origin = offset
  let isInString = false

  // Within an item: how deep, 0 between items.
  let level = 0
  let itemStart = 0
  let beginning: string | undefined
  let stringStart = 0
  let isKey = false
  let isDocNext = false
  let docStart = -1
  let docEnd = -1

  // Between items.
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

  /** Of a row on its own level: finds the member `doc`. */
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

  /** Goes on within an item to its end, or to the end of what has come. The place that has most to do. */
  const walkItem = () => {
    const held = bytes
    const end = length
    let next = at
    let inString = isInString
    let deep = level
    while (next < end && deep > 0) {
      if (inString) {
        // Most bytes are in strings: nothing else is asked of them.
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

  /** What is not needed any more gives room; of an item that is too large only its end is waited for. */
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
    /** The items that end in this piece. */
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
    /** Nothing more comes. */
    end: (): Frame => ({
      text: frame,
      isWhole: isEnded && hadList,
      isHalf: level > 0 || isInString || depth > 0,
    }),
  }
}
