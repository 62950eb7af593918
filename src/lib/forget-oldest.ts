/** Keeps a map of what can be made again from growing. */
export const evictOldest = (map: Map<string, unknown>, most: number) => {
  if (map.size <= most) return
  for (const oldest of map.keys()) {
    map.delete(oldest)
    return
  }
}
