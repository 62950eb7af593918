import type { Duplex } from 'node:stream'
import { failure, overloaded, tooManyRequests } from '../../lib/failure.ts'
import { onClose } from '../wire/hand-over.ts'

// The bytes of answers that are made and not yet taken by clients: of each payer, and of all together. Answers that are
// streamed hold room for one batch, others for their whole body.

export interface Room {
  bytesOfOne: number
  bytesOfAll: number
  /** How long a stream waits for its room. */
  waitMilliseconds: number
}

/** Room that is taken. It may be given back more than once. */
export type Release = () => void

export interface InFlight {
  /** Room for what is about to be made: waits for it, or fails after a while. */
  reserve(payer: string, bytes: number, room: Room, socket: Duplex): Promise<Release>
  /** Room for what is made already: now or never. */
  claim(payer: string, bytes: number, room: Room, socket: Duplex): Release
  /** Room for what has to be answered in any case. */
  force(payer: string, bytes: number, socket: Duplex): Release
}

interface Waiting {
  bytes: number
  room: Room
  enter(): void
}

// Whoever asks for more at once than this is not waiting for its own answers.
const maxWaitingOfOne = 256
const retryAfterSeconds = 5

/** `threads`: so many of the process answer requests, and share the room of all. */
export const createInFlight = (threads = 1): InFlight => {
  const held = new Map<string, number>()
  // Its order is the order in which payers get room.
  const waiting = new Map<string, Waiting[]>()
  let total = 0

  const bytesOf = (payer: string) => held.get(payer) ?? 0

  /** The last third of all room is kept for payers that have nothing under way: each gets at least one answer. */
  const isRoomFor = (payer: string, bytes: number, { bytesOfAll }: Room) => {
    const most = bytesOfAll / threads
    return total === 0 || total + bytes <= (bytesOf(payer) === 0 ? most : (most * 2) / 3)
  }

  /** One answer may be larger than the room of its payer: else nobody could ever read it. */
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
    // A connection that closes gives back what its answers hold, even those that never got their turn on it.
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
    async reserve(payer, bytes, room, socket) {
      const before = waiting.get(payer)?.length ?? 0
      if (before === 0 && fits(payer, bytes, room)) return take(payer, bytes, socket)
      if (before >= maxWaitingOfOne || socket.destroyed) throw failure(tooManyRequests, { retryAfterSeconds })
      return wait(payer, bytes, room, socket)
    },

    claim(payer, bytes, room, socket) {
      if (!fits(payer, bytes, room)) throw refusal(payer, bytes, room)
      return take(payer, bytes, socket)
    },

    force: take,
  }
}
