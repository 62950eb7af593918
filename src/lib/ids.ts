import { randomBytes, randomFillSync } from 'node:crypto'

// Random bytes are drawn in blocks: a system call for each id would be slow.
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

/** `bytes` bytes as lower-case hex. */
export const randomHex = (bytes: number) =>
  bytes > 1024 ? randomBytes(bytes).toString('hex') : takeHex(bytes)

export const randomKey = (bytes: number) => randomBytes(bytes)

const countTo = 0x1000

/** The last requested millisecond, and that of the latest id, which is later if there were too many ids. */
let asked = 0
let borne = 0
let count = 0

const begin = (unixMilliseconds: number) => {
  borne = unixMilliseconds
  // Small, so that the counter has space.
  count = Number.parseInt(takeHex(1), 16)
}

const countOn = () => {
  count += 1
  if (count < countTo) return
  borne += 1
  count = 0
}

/** UUIDv7 as 32 hex characters. Ids of one process grow, also within a millisecond (RFC 9562, 6.2), so that inserts are local in the index. */
export const newId = (unixMilliseconds: number) => {
  if (unixMilliseconds < asked || unixMilliseconds > borne) begin(unixMilliseconds)
  else countOn()
  asked = unixMilliseconds
  const random = takeHex(8)
  const variant = ((Number.parseInt(random.slice(0, 1), 16) & 0x3) | 0x8).toString(16)
  const time = borne.toString(16).padStart(12, '0')
  return `${time}7${count.toString(16).padStart(3, '0')}${variant}${random.slice(1)}`
}

export const isId = (text: string) => /^[0-9a-f]{32}$/.test(text)
