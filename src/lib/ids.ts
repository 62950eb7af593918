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

const countTo = 0x1000

/** The millisecond that was asked for last, and the one that its latest id bears: later when more ids were made than it has. */
let asked = 0
let borne = 0
let count = 0

const begin = (unixMilliseconds: number) => {
  borne = unixMilliseconds
  // Random but small, so that there is room to count on.
  count = Number.parseInt(takeHex(1), 16)
}

const countOn = () => {
  count += 1
  if (count < countTo) return
  borne += 1
  count = 0
}

/**
 * A record id: 32 lower-case hex characters holding a UUIDv7. Ids grow with time, so inserts stay local in the index;
 * those that a process makes within one millisecond grow too, as many as they are: they are counted on into the next
 * one (RFC 9562, 6.2). Those of several processes, and of a clock that is set back, are in no order.
 */
export const newId = (unixMilliseconds: number) => {
  if (unixMilliseconds < asked || unixMilliseconds > borne) begin(unixMilliseconds)
  else countOn()
  asked = unixMilliseconds
  const random = takeHex(8)
  const variant = ((Number.parseInt(random.slice(0, 1), 16) & 0x3) | 0x8).toString(16)
  const time = borne.toString(16).padStart(12, '0')
  return `${time}7${count.toString(16).padStart(3, '0')}${variant}${random.slice(1)}`
}

/** Whether a text has the form of a record id. */
export const isId = (text: string) => /^[0-9a-f]{32}$/.test(text)
