import { isObject, type Json } from './json.ts'

/** Keys and list positions, from the top. */
export type Place = readonly string[]

export interface Removed {
  /** In the given document. */
  place: Place
  value: unknown
}

type Holder = Json | unknown[]

const isHolder = (value: unknown): value is Holder => isObject(value) || Array.isArray(value)

/** Later list items and deeper places first, so that the others do not move. */
const inOrderOfRemoval = (one: Place, other: Place): number => {
  const at = one.findIndex((key, index) => key !== other[index])
  if (at < 0 || at >= other.length) return other.length - one.length
  const [a = '', b = ''] = [one[at], other[at]]
  return Number(b) - Number(a) || (a < b ? -1 : 1)
}

export const createRemoval = (doc: Json) => {
  const rest = structuredClone(doc)
  const removed: Removed[] = []
  // Original positions of list items.
  const positions = new WeakMap<object, number[]>()

  const positionsOf = (list: readonly unknown[]) => {
    const known = positions.get(list) ?? Array.from(list.keys())
    positions.set(list, known)
    return known
  }

  const holderOf = (place: Place): Holder | undefined => {
    let found: unknown = rest
    for (const key of place.slice(0, -1))
      found = isHolder(found) && Object.hasOwn(found, key) ? found[key as never] : undefined
    return isHolder(found) ? found : undefined
  }

  /** The place in the given document. */
  const givenPlace = (place: Place): Place => {
    let found: unknown = rest
    return place.map((key) => {
      const holder = found
      found = isHolder(holder) ? holder[key as never] : undefined
      return Array.isArray(holder) ? String(positionsOf(holder)[Number(key)]) : key
    })
  }

  const isThere = (place: Place) => {
    const [holder, key] = [holderOf(place), place.at(-1)]
    return holder !== undefined && key !== undefined && Object.hasOwn(holder, key)
  }

  const removeOne = (place: Place) => {
    const [holder, key] = [holderOf(place), place.at(-1)]
    if (!holder || key === undefined) return
    removed.push({ place: givenPlace(place), value: holder[key as never] })
    if (Array.isArray(holder)) {
      positionsOf(holder).splice(Number(key), 1)
      holder.splice(Number(key), 1)
    } else delete holder[key]
  }

  return {
    rest,
    removed,
    /** `places` are those of `rest`. If a required value is missing, its container is removed. Returns false if nothing was removed. */
    remove(places: readonly Place[]): boolean {
      const found = places
        .map((place) => (isThere(place) ? place : place.slice(0, -1)))
        .filter(isThere)
        .map((place) => [JSON.stringify(place), place] as const)
      const distinct = [...new Map(found).values()].sort(inOrderOfRemoval)
      for (const place of distinct) removeOne(place)
      return distinct.length > 0
    },
  }
}
