// Splits JSON that arrives in chunks into documents or rows. It only looks at quotes and brackets.
import { membersIn, signs } from './documents.ts'

const { quote, backslash, curlyOpen, curlyClose, squareOpen, squareClose } = signs

export interface Item {
  /** Byte offsets; `end` is exclusive. */
  start: number
  end: number
  /** A row has null instead of its document; an item that is too large has only its beginning. */
  text: string
  doc: string | undefined
  isTooLarge: boolean
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

const namesList = /"(?:rows|docs|results)"\s*:\s*$/
const beginningBytes = 4096
// More of it is never needed.
const maxFrameLength = 65_536

/** Separates the document of a row from the row. */
const splitRow = (text: string) => {
  const members = membersIn(text)
  const doc = members.find(({ key }) => key === 'doc')?.value
  if (doc === undefined) return { text, doc }
  const others = members.map((member) => (member.key === 'doc' ? '"doc":null' : member.text))
  return { text: `{${others.join(',')}}`, doc }
}

/** The list around the items, and the other members of its object. */
const createSurroundings = (isWithin: boolean) => {
  let depth = 0
  let listDepth = Number.POSITIVE_INFINITY
  let hadList = false
  let isEnded = false
  let text = ''

  const walk = (byte: number) => {
    if (byte === curlyOpen || byte === squareOpen) {
      const opensList = isWithin ? depth === 1 && !hadList && namesList.test(text) : depth === 0
      depth += 1
      if (byte === squareOpen && opensList) {
        listDepth = depth
        hadList = true
      }
    } else if (byte === curlyClose || byte === squareClose) {
      depth = Math.max(0, depth - 1)
      if (depth < listDepth) listDepth = Number.POSITIVE_INFINITY
      isEnded ||= depth === 0
    }
  }

  return {
    opensItem: (byte: number) => byte === curlyOpen && (depth === listDepth || (!isWithin && depth === 0)),
    add(byte: number, spelled: string, isInString: boolean) {
      const isFrame = isWithin && !isEnded && text.length < maxFrameLength
      const wasInList = depth >= listDepth
      if (!isInString) walk(byte)
      if (isFrame && !(wasInList && depth >= listDepth)) text += spelled
    },
    frame: (isInValue: boolean) => ({
      /** With an empty list instead of the items. */
      text,
      /** The list of items is complete. */
      isWhole: isEnded && hadList,
      /** The text ends within a value. */
      isHalf: isInValue || depth > 0,
    }),
  }
}

export const createItemScanner = ({ place, areRows, offset = 0, mostBytes = 64 * 1024 * 1024 }: Shape) => {
  const around = createSurroundings(place === 'within')
  let origin = offset
  let isInString = false
  // Bytes of the next piece that are escaped by the end of the last one.
  let escaped = 0

  // The current item; `level` is 0 outside of items.
  let level = 0
  let start = 0
  let held: Uint8Array[] = []
  let heldBytes = 0
  let beginning: string | undefined

  const itemUpTo = (end: number): Item => {
    const bounds = { start, end, isTooLarge: beginning !== undefined }
    const text = beginning ?? Buffer.concat(held).toString('utf8')
    const isRow = areRows && beginning === undefined
    return { ...bounds, ...(isRow ? splitRow(text) : { text, doc: undefined }) }
  }

  const hold = (bytes: Uint8Array) => {
    held.push(bytes)
    heldBytes += bytes.length
  }

  const releaseTooLarge = () => {
    if (heldBytes <= mostBytes) return
    beginning ??= Buffer.concat(held).toString('utf8', 0, beginningBytes)
    held = []
  }

  /** Continues to the end of the item or the piece. The hot loop. */
  const walkItem = (piece: Uint8Array, from: number) => {
    const end = piece.length
    let at = from
    let inString = isInString
    let deep = level
    while (at < end && deep > 0) {
      let byte = piece[at]
      if (inString) {
        // Most bytes are in strings.
        while (byte !== quote && at < end) {
          at += byte === backslash ? 2 : 1
          byte = piece[at]
        }
        if (at >= end) break
        inString = false
      } else if (byte === quote) inString = true
      else if (byte === curlyOpen || byte === squareOpen) deep += 1
      else if (byte === curlyClose || byte === squareClose) deep -= 1
      at += 1
    }
    isInString = inString
    level = deep
    return at
  }

  const walkBetween = (piece: Uint8Array, at: number) => {
    const byte = piece[at] ?? 0
    const length = isInString && byte === backslash ? 2 : 1
    if (!isInString && around.opensItem(byte)) {
      level = 1
      start = origin + at
      held = []
      heldBytes = 0
      beginning = undefined
    } else {
      around.add(byte, Buffer.from(piece.subarray(at, at + length)).toString('latin1'), isInString)
      if (byte === quote) isInString = !isInString
    }
    return at + length
  }

  return {
    push(piece: Uint8Array): Item[] {
      const found: Item[] = []
      let at = escaped
      let from = 0
      while (at < piece.length) {
        if (level === 0) {
          from = at
          at = walkBetween(piece, at)
        } else {
          at = walkItem(piece, at)
          if (level > 0) break
          hold(piece.subarray(from, at))
          found.push(itemUpTo(origin + at))
        }
      }
      if (level > 0) {
        hold(piece.subarray(from))
        releaseTooLarge()
      }
      escaped = Math.max(0, at - piece.length)
      origin += piece.length
      return found
    },
    end: () => around.frame(level > 0 || isInString),
  }
}
