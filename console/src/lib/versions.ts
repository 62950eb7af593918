import { useEffect, useState } from 'react'

/**
 * Versions of a record that the editor has replaced, by saving or by loading a newer one. A read may still
 * return one of them until its event or the next read arrives: such versions are ignored.
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
