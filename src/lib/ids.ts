import { randomBytes, randomFillSync } from 'node:crypto'

// Random bytes are drawn in blocks: one system call an id would cost more than the rest of it.
const pool = Buffer.alloc(4096)
let used = pool.length

const takeHex = (bytes: number) => {
  if (used + bytes > pool.length) {
    randomFillSync(pool)
    used = 0
  }
  used += bytes
  return pool.toString('hex', used - bytes, used)
}

/** Random lower-case hex text of `bytes` bytes, for request ids and the like. */
export const randomHex = (bytes: number) =>
  bytes > 1024 ? randomBytes(bytes).toString('hex') : takeHex(bytes)

/** Random bytes for keys and salts. */
export const randomKey = (bytes: number) => randomBytes(bytes)

let latestMilliseconds = 0
let sequence = 0

// Of the first id in a millisecond random but small, so that there is room to count on.
const nextSequence = (unixMilliseconds: number) => {
  sequence = unixMilliseconds === latestMilliseconds ? sequence + 1 : Number.parseInt(takeHex(1), 16)
  latestMilliseconds = unixMilliseconds
  return (sequence & 0xfff).toString(16).padStart(3, '0')
}

/**
 * A record id: 32 lower-case hex characters holding a UUIDv7. Ids grow with time, so inserts stay local in the index;
 * those that a process makes within one millisecond grow too, so audit entries keep their order.
 */
export const newId = (unixMilliseconds: number) => {
  const random = takeHex(8)
  const variant = ((Number.parseInt(random.slice(0, 1), 16) & 0x3) | 0x8).toString(16)
  return `${unixMilliseconds.toString(16).padStart(12, '0')}7${nextSequence(unixMilliseconds)}${variant}${random.slice(1)}`
}

/** Whether a text has the form of a record id. */
export const isId = (text: string) => /^[0-9a-f]{32}$/.test(text)
