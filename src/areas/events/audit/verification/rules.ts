import { type ChainedContent, chained, contentDigest } from '../../../../lib/chain.ts'

// What makes a chain of entries a sound one. Fed entry by entry, in the order of their places.

/** An entry as it is stored, with its place. */
export interface Link extends ChainedContent {
  sequence: number
  digest: string
  previousDigest: string | undefined
}

/** The end of a chain, as it is kept beside it. */
export interface ChainEnd {
  sequence: number
  digest: string
}

/** What retention has removed last: everything up to a place, whose digest the first entry that is left refers to. */
export interface Removal {
  sequence: number
  digest: string
}

/** What is wrong with a chain, and where it shows first. */
export interface Fault {
  /** Undefined when the entry itself is gone. */
  entryId: string | undefined
  sequence: number
  reason: string
}

const faultAt = ({ id, sequence }: Pick<Link, 'id' | 'sequence'>, reason: string): Fault => ({
  entryId: id,
  sequence,
  reason,
})

/** Follows the chain of one account; `end` is what was kept as its end before any of it was read. */
export const createChainWalk = (end: ChainEnd | undefined) => {
  let first: Link | undefined
  let last: Pick<Link, 'sequence' | 'digest'> | undefined
  let isEndSeen = end === undefined

  return {
    /** Takes the next entry; answers with what is wrong with it. */
    take(link: Link): Fault | undefined {
      const previous = link.previousDigest ?? null
      first ??= link
      if (last && previous !== last.digest)
        return faultAt(link, 'does not follow the entry before it: that one was altered, removed or moved')
      if (link.digest !== chained(contentDigest(link), { previous, sequence: link.sequence }))
        return faultAt(link, 'was altered')
      last = { sequence: link.sequence, digest: link.digest }
      isEndSeen ||= end !== undefined && link.sequence === end.sequence && link.digest === end.digest
      return undefined
    },

    /** When there are no more entries: whether it begins and ends where it should. `endNow` is what is kept by then. */
    finish(removal: Removal | undefined, endNow: ChainEnd | undefined): Fault | undefined {
      if (last && !endNow) return { entryId: undefined, sequence: last.sequence, reason: 'has no kept end' }
      if (first && (first.previousDigest ?? null) !== (removal?.digest ?? null))
        return faultAt(first, 'is not the first entry: what came before it was not removed by retention')
      const isAllRemoved = end !== undefined && removal?.digest === end.digest
      if (end && !isEndSeen && !isAllRemoved)
        return { entryId: undefined, sequence: end.sequence, reason: 'was removed' }
      return undefined
    },
  }
}

/** An entry that retention has let go of, and that is still an event, stands before what is left of the audit. */
export const letGoFault = (
  { id, sequence }: Pick<Link, 'id' | 'sequence'>,
  removal: Removal | undefined,
): Fault | undefined =>
  sequence <= (removal?.sequence ?? 0) ? undefined : faultAt({ id, sequence }, 'was taken out of the chain')
