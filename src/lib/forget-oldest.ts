/** Bounds a cache; call it after each insertion. */
export const evictOldest = (map: Map<string, unknown>, most: number) => {
  if (map.size <= most) return
  for (const oldest of map.keys()) {
    map.delete(oldest)
    return
  }
}
