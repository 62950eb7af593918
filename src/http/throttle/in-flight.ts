import type { Duplex } from 'node:stream'
import { failure, overloaded, tooManyRequests } from '../../lib/failure.ts'
import { onClose } from '../transport/body-writer.ts'

// Bytes of responses that clients have not received yet, by payer and in total. Streams reserve memory for one batch.

export interface Room {
  bytesOfOne: number
  bytesOfAll: number
  waitMilliseconds: number
}

/** May be called more than once. */
export type Release = () => void

export type InFlight = ReturnType<typeof createInFlight>

interface Waiting {
  bytes: number
  room: Room
  enter(): void
}

const maxWaitingOfOne = 256
const retryAfterSeconds = 5

/** `threads` share the total. */
export const createInFlight = (threads = 1) => {
  const held = new Map<string, number>()
  // In the order in which payers get memory.
  const waiting = new Map<string, Waiting[]>()
  let total = 0

  const bytesOf = (payer: string) => held.get(payer) ?? 0

  /** The last third is reserved for payers without responses in progress: each gets at least one. */
  const isRoomFor = (payer: string, bytes: number, { bytesOfAll }: Room) => {
    const most = bytesOfAll / threads
    return total === 0 || total + bytes <= (bytesOf(payer) === 0 ? most : (most * 2) / 3)
  }

  /** One response may be larger than the payer's budget: otherwise it could never be read. */
  const isOwnRoomFor = (payer: string, bytes: number, { bytesOfOne }: Room) =>
    bytesOf(payer) === 0 || bytesOf(payer) + bytes <= bytesOfOne / threads

  const fits = (payer: string, bytes: number, room: Room) =>
    isOwnRoomFor(payer, bytes, room) && isRoomFor(payer, bytes, room)

  const refusal = (payer: string, bytes: number, room: Room) =>
    isOwnRoomFor(payer, bytes, room)
      ? failure(overloaded, { retryAfterSeconds })
      : failure(tooManyRequests, { retryAfterSeconds })

  const letNextIn = () => {
    for (const [payer, queue] of waiting) {
      const [first] = queue
      if (!first || !fits(payer, first.bytes, first.room)) continue
      queue.shift()
      waiting.delete(payer)
      if (queue.length > 0) waiting.set(payer, queue)
      first.enter()
      return true
    }
    return false
  }

  const take = (payer: string, bytes: number, socket: Duplex): Release => {
    let isHeld = true
    total += bytes
    held.set(payer, bytesOf(payer) + bytes)
    const giveBack = () => {
      if (!isHeld) return
      isHeld = false
      stay()
      total -= bytes
      const left = bytesOf(payer) - bytes
      if (left > 0) held.set(payer, left)
      else held.delete(payer)
      while (letNextIn());
    }
    // Also responses that never started on a closed connection.
    const stay = onClose(socket, giveBack)
    if (socket.destroyed) giveBack()
    return giveBack
  }

  const queueOf = (payer: string) => {
    const queue = waiting.get(payer) ?? []
    waiting.set(payer, queue)
    return queue
  }

  const leave = (payer: string, one: Waiting) => {
    const queue = queueOf(payer)
    const at = queue.indexOf(one)
    if (at >= 0) queue.splice(at, 1)
    if (queue.length === 0) waiting.delete(payer)
  }

  const wait = (payer: string, bytes: number, room: Room, socket: Duplex) =>
    new Promise<Release>((resolve, reject) => {
      const giveUp = () => {
        end()
        reject(refusal(payer, bytes, room))
      }
      const one: Waiting = {
        bytes,
        room,
        enter() {
          end()
          resolve(take(payer, bytes, socket))
        },
      }
      const timer = setTimeout(giveUp, room.waitMilliseconds)
      const end = () => {
        clearTimeout(timer)
        stay()
        leave(payer, one)
      }
      const stay = onClose(socket, giveUp)
      queueOf(payer).push(one)
    })

  return {
    /** Waits for memory, or fails after a while. */
    async reserve(payer: string, bytes: number, room: Room, socket: Duplex): Promise<Release> {
      const before = waiting.get(payer)?.length ?? 0
      if (before === 0 && fits(payer, bytes, room)) return take(payer, bytes, socket)
      if (before >= maxWaitingOfOne || socket.destroyed) throw failure(tooManyRequests, { retryAfterSeconds })
      return wait(payer, bytes, room, socket)
    },

    /** Fails if there is no memory now. */
    claim(payer: string, bytes: number, room: Room, socket: Duplex): Release {
      if (!fits(payer, bytes, room)) throw refusal(payer, bytes, room)
      return take(payer, bytes, socket)
    },

    /** Counts what must be sent in any case. */
    force: take,
  }
}
