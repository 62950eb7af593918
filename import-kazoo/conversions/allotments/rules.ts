import type { Draft, KazooDocument } from '../../documents/document.ts'
import { integerIn, isGone, textIn, timesOf } from '../../documents/fields.ts'

// What accounts have used of what their calls have included. It matters as long as the cycle lasts: only the newest
// months need to be read for it.

/** Some seconds of an allotment that were used in one minute. */
interface Use {
  allotment: string
  /** Gregorian second with which the minute begins. */
  minute: number
  seconds: number
}

const minuteSeconds = 60

/** A document of type `allotment_consumption`; undefined of one that says not what was used. */
const useIn = ({ fields }: KazooDocument): Use | undefined => {
  const allotment = textIn(fields, 'classification')
  const seconds = integerIn(fields, 'seconds')
  if (isGone(fields) || allotment === undefined || seconds === undefined || seconds <= 0) return undefined
  const { created } = timesOf(fields)
  return { allotment, seconds, minute: created - (created % minuteSeconds) }
}

const useDraft = (accountId: string, use: Use): Draft => ({
  as: 'allotment_use',
  accountId,
  id: [String(use.minute), use.allotment].map(encodeURIComponent).join('/'),
  created: use.minute,
  modified: use.minute,
  doc: {},
  facts: { ...use },
  files: [],
})

/** Adds up what was used in a month, by the minute: it holds no more than the minutes in which something was. */
export const createUses = () => {
  const uses = new Map<string, Use>()
  return {
    /** Whether the document says that something was used. */
    add(document: KazooDocument): boolean {
      const use = useIn(document)
      if (!use) return false
      const key = JSON.stringify([use.allotment, use.minute])
      uses.set(key, { ...use, seconds: use.seconds + (uses.get(key)?.seconds ?? 0) })
      return true
    },

    drafts: (accountId: string): Draft[] => Array.from(uses.values(), (use) => useDraft(accountId, use)),
  }
}
