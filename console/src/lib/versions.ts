import { useEffect, useState } from 'react'

/**
 * Which versions of a record the person who edits it has left behind, by saving or by taking somebody else's. What was read may
 * still be one of them, until the event or the reading that replaces it arrives: it is not gone back to.
 */
export const useVersions = (read: string, edited: string) => {
  const [left, setLeft] = useState<readonly string[]>([])
  // The reading has caught up. What is removed, or set back, has the revision again that it began with.
  useEffect(() => {
    if (read === edited) setLeft((before) => (before.length === 0 ? before : []))
  }, [read, edited])
  return {
    /** Whether what was read is neither what is edited nor older than it. */
    isNewer: read !== edited && !left.includes(read),
    leave: (...revisions: readonly string[]) => setLeft((before) => [...before, ...revisions]),
  }
}
