import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type ChainedContent, chained, contentDigest } from '../../src/lib/chain.ts'

const maybe = fc.option(fc.string(), { nil: undefined })

const entry: fc.Arbitrary<ChainedContent> = fc.record({
  accountId: fc.string(),
  tree: maybe,
  id: fc.string(),
  at: fc.nat(),
  event: maybe,
  action: fc.string(),
  kind: fc.string(),
  recordId: fc.string(),
  author: fc.string(),
  actorId: maybe,
  recordName: maybe,
  changes: maybe,
  beforeDoc: maybe,
  afterDoc: maybe,
})

const isEdit = ({ changes }: ChainedContent) => changes !== undefined

/** What the digest covers: of an edit not the whole records. */
const covered = (one: ChainedContent) =>
  isEdit(one) ? { ...one, beforeDoc: undefined, afterDoc: undefined } : one

describe('the digest of an audit entry', () => {
  it('is another for every other content', () => {
    fc.assert(
      fc.property(entry, entry, (one, other) => {
        const isSame = JSON.stringify(covered(one)) === JSON.stringify(covered(other))
        expect(contentDigest(one) === contentDigest(other)).toBe(isSame)
      }),
    )
  })

  it('is another when a text moves from one field into the next', () => {
    fc.assert(
      fc.property(entry, fc.string({ minLength: 1 }), (one, text) => {
        const moved = { ...one, kind: one.kind + text }
        const stayed = { ...one, recordId: text + one.recordId }
        expect(contentDigest(moved)).not.toBe(contentDigest(stayed))
      }),
    )
  })

  it('distinguishes an empty text from a missing one', () => {
    fc.assert(
      fc.property(
        entry,
        fc.constantFrom('tree', 'event', 'actorId', 'recordName', 'changes'),
        (one, field) => {
          const empty = contentDigest({ ...one, [field]: '' })
          expect(contentDigest({ ...one, [field]: undefined })).not.toBe(empty)
        },
      ),
    )
  })

  it('stays what it is when the records before and after an edit are let go', () => {
    fc.assert(
      fc.property(entry.filter(isEdit), (one) => {
        const left = { ...one, beforeDoc: undefined, afterDoc: undefined }
        expect(contentDigest(left)).toBe(contentDigest(one))
      }),
    )
  })

  it('is that of the name as a store gives it back, cut within a character or not', () => {
    fc.assert(
      fc.property(entry, fc.string({ unit: 'binary', maxLength: 5 }), fc.nat(5), (one, text, length) => {
        const recordName = text.slice(0, length)
        const stored = Buffer.from(recordName).toString()
        expect(contentDigest({ ...one, recordName: stored })).toBe(contentDigest({ ...one, recordName }))
      }),
    )
  })
})

describe('the chain', () => {
  const digest = fc.stringMatching(/^[0-9a-f]{64}$/)
  const place = fc.record({ previous: fc.option(digest), sequence: fc.nat() })

  it('gives the same content another digest in every other place', () => {
    fc.assert(
      fc.property(digest, place, place, (content, here, there) => {
        const isSame = here.previous === there.previous && here.sequence === there.sequence
        expect(chained(content, here) === chained(content, there)).toBe(isSame)
      }),
    )
  })

  it('is 64 hex characters a link', () => {
    expect(chained('', { previous: null, sequence: 1 })).toMatch(/^[0-9a-f]{64}$/)
  })
})
