import { createHash } from 'node:crypto'
import type { Json } from '../../src/lib/json.ts'

// These CouchDB stores compressed, and the digest that it tells is of that.
const isCompressed = (type: unknown) => /^text\/|^application\/(?:javascript|json|xml)/.test(String(type))

/** Holds the bytes of a file against what its document says of it. */
export const createFileCheck = ({ length, digest, content_type: type }: Json) => {
  const found = createHash('md5')
  let given = 0
  return {
    given: () => given,
    add(piece: Uint8Array) {
      found.update(piece)
      given += piece.length
    },
    /** What is wrong, in words; undefined when nothing is. */
    flaw() {
      if (typeof length === 'number' && given !== length) return `has ${given} bytes instead of ${length}`
      const told = /^md5-(.+)$/.exec(String(digest))?.[1]
      return told !== undefined && !isCompressed(type) && told !== found.digest('base64')
        ? 'is not what its digest says'
        : undefined
    },
  }
}
