import { useState } from 'react'

/**
 * Which versions of a record the person who edits it has left behind, by saving or by taking somebody else's. What was read may
 * still be one of them, until the event or the reading that replaces it arrives: it is not gone back to.
 */
export const useVersions = (read: string) => {
  const [left, setLeft] = useState<readonly string[]>([])
  return {
    /** Whether what was read is neither what is edited nor older than it. */
    isNewerThan: (edited: string) => read !== edited && !left.includes(read),
    leave: (...revisions: readonly string[]) => setLeft((before) => [...before, ...revisions]),
    /** What was read is taken over: settings that are as they come again have the revision that they began with. */
    takeOver: () => setLeft([]),
  }
}
