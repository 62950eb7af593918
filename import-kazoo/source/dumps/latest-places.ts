// Where an id stood last, for millions of ids in little memory: 16 bytes each, by half of a digest of the id.
import { hash } from 'node:crypto'

const firstSlots = 1024

export const createLatestPlaces = () => {
  let slots = firstSlots
  let high = new Uint32Array(slots)
  let low = new Uint32Array(slots)
  // A place behind which it stands; 0 marks a free slot.
  let places = new Float64Array(slots)
  let count = 0

  const slotOf = (top: number, bottom: number) => {
    let slot = bottom & (slots - 1)
    while (places[slot] !== 0 && (high[slot] !== top || low[slot] !== bottom)) slot = (slot + 1) & (slots - 1)
    return slot
  }

  const put = (top: number, bottom: number, place: number) => {
    const slot = slotOf(top, bottom)
    const before = places[slot] ?? 0
    high[slot] = top
    low[slot] = bottom
    places[slot] = place
    return before
  }

  const grow = () => {
    const old = { high, low, places }
    slots *= 2
    high = new Uint32Array(slots)
    low = new Uint32Array(slots)
    places = new Float64Array(slots)
    old.places.forEach((place, slot) => {
      if (place !== 0) put(old.high[slot] ?? 0, old.low[slot] ?? 0, place)
    })
  }

  /** Remembers a place, above 0; gives the one before, if there is one. */
  return (id: string, place: number): number | undefined => {
    const digest = hash('md5', id, 'buffer')
    const before = put(digest.readUInt32LE(0), digest.readUInt32LE(4), place)
    if (before !== 0) return before
    count += 1
    if (count * 3 > slots * 2) grow()
    return undefined
  }
}
