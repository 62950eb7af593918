/** Calls `make` once for each object. The result is kept as long as the object. */
export const oncePer = <Key extends object, Made extends object>(make: (key: Key) => Made) => {
  const made = new WeakMap<Key, Made>()
  return (key: Key): Made => {
    const known = made.get(key) ?? make(key)
    made.set(key, known)
    return known
  }
}
