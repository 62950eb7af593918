import type { Job, JobKind, Queue } from '../../../jobs/queue.ts'
import { failure } from '../../../lib/failure.ts'
import type { Json } from '../../../lib/json.ts'
import { type Author, ChangeSet } from '../../../storage/change-set.ts'
import type { CarrierReply } from './carriers/carrier.ts'
import { numberFault } from './failures.ts'
import { foundRecord, type NumberFacts, numberFactsOf } from './number-facts.ts'
import { createNumberView, type NumberDeps, type NumberPlanner } from './planner.ts'
import { numberOrderRefused } from './signals.ts'

// One change set runs its jobs in the order of these names: a number is ordered first and returned last.
export const orderKind = 'number_order'
export const releaseKind = 'number_release'

/** Time in ms for the request to run its own order; afterwards the queue runs it. */
export const orderTimeoutMs = 30_000

/** `before`: the number in the inventory, restored if the carrier refuses. */
interface OrderWish {
  number: string
  carrier: string
  author: Author
  before?: NumberFacts
}

/** An accepted order keeps only the carrier's data. */
interface OrderPayload {
  carrierData: Json
  wish?: OrderWish
  /** See `actOf`. */
  act?: string
}

interface ReleasePayload {
  number: string
  carrier: string
  carrierData: Json
  /** Id of the pending order that the release waits for. */
  order?: string
}

interface NumberJobPayloads {
  [orderKind]: OrderPayload
  [releaseKind]: ReleasePayload
}

/** Adds a job for a carrier. `dueAt`: Unix milliseconds; absent: at once. */
export const addNumberJob = <Kind extends keyof NumberJobPayloads>(
  set: ChangeSet,
  kind: Kind,
  job: { id: string; accountId: string; number: string; dueAt?: number },
  payload: NumberJobPayloads[Kind],
) => {
  const { number, ...place } = job
  // Jobs of one number run one after the other.
  set.job({ kind, ...place, subject: `number/${number}`, payload })
}

interface Deps extends Pick<NumberDeps, 'store' | 'desk'> {
  queue: Queue
  planner: NumberPlanner
}

export type OrderEnd = 'accepted' | 'refused' | 'pending'

const ends = { done: 'accepted', failed: 'refused', waiting: 'pending' } as const

const idempotencyKeyOf = (kind: string, id: string) => `${kind}/${id}`

const maxConcurrentOrders = 8
// Afterwards the queue may run the jobs itself.
const maxStartMs = orderTimeoutMs / 2

const unneeded = { outcome: 'unneeded' } as const

const replyText = (reply: { reason?: string; outcome: string }) => reply.reason ?? reply.outcome

const waiting = (reply: { reason: string; isDown: boolean }) =>
  ({ state: 'waiting', outcome: reply.reason, isOutsideDown: reply.isDown }) as const

/** Change sets that follow from the response of a carrier. */
const orderResults = ({ numbers, settle, addRemoval }: NumberPlanner) => ({
  /** The carrier accepted: the order is no longer pending. */
  async confirm({ id, payload: { wish } }: Job<OrderPayload>, carrierData: Json) {
    if (!wish) return []
    const stored = await numbers.findAnywhere(wish.number)
    if (stored?.hidden.pendingOrder !== id) return []
    const { pendingOrder: _, ...hidden } = stored.hidden
    const facts = { ...numberFactsOf(stored), hidden: { ...hidden, carrierData } }
    const set = new ChangeSet(wish.author)
    await settle(createNumberView(numbers), set, foundRecord(stored), facts)
    return [set]
  },

  /** The carrier refused: restores the number as it was before, with its counts. */
  async undo({ id, accountId, payload: { wish, act } }: Job<OrderPayload>) {
    if (!wish) return []
    const { author, before, number } = wish
    const stored = await numbers.findAnywhere(number)
    const isWaiting = stored?.hidden.pendingOrder === id
    // The owner released it while the order was pending. If another account had it, it would have its own order.
    const isLeft = stored?.accountId === '' && stored.hidden.givenBack && !before
    const set = new ChangeSet({ requestId: author.requestId })
    set.isCorrection = true
    set.tell(numberOrderRefused, { orderId: id, number, author, act, accountId })
    const view = createNumberView(numbers)
    if (stored && isWaiting && before) await settle(view, set, foundRecord(stored), before)
    else if (stored && (isWaiting || isLeft)) await addRemoval(view, set, stored)
    else set.record({ accountId, kind: orderKind, id, action: 'deleted' })
    return [set]
  },
})

/** Jobs for carriers after the commit of a change, and their results. */
export const createNumberJobs = ({ store, queue, desk, planner }: Deps) => {
  const { confirm, undo } = orderResults(planner)

  const supplierOf = (carrier: string) => {
    const { supplier } = desk.of(carrier)
    if (!supplier) throw new Error(`the carrier ${carrier} does not accept number orders`)
    return supplier
  }

  const orderBefore = async ({ order }: ReleasePayload) => {
    const work = order === undefined ? undefined : await queue.find(orderKind, order)
    if (!work) return undefined
    const payload: OrderPayload = JSON.parse(work.payload)
    return { isRefused: work.state === 'failed', payload }
  }

  const orders: JobKind<OrderPayload, CarrierReply> = {
    kind: orderKind,
    maxConcurrent: maxConcurrentOrders,
    ask({ id, payload: { carrierData, wish } }, signal) {
      if (!wish) throw new Error('an order that has ended is sent again')
      const { number, carrier } = wish
      return supplierOf(carrier).order({ number, carrierData, key: idempotencyKeyOf(orderKind, id), signal })
    },
    async conclude(job, reply) {
      if (reply.outcome === 'unknown') return waiting(reply)
      if (reply.outcome === 'refused')
        return { state: 'failed', outcome: reply.reason, sets: await undo(job) }
      const { carrierData } = reply
      return { state: 'done', sets: await confirm(job, carrierData), keep: { carrierData } }
    },
  }

  const releases: JobKind<ReleasePayload, CarrierReply | typeof unneeded> = {
    kind: releaseKind,
    async ask({ id, payload }, signal) {
      const order = await orderBefore(payload)
      if (order?.isRefused) return unneeded
      const { number, carrier } = payload
      const { carrierData } = order?.payload ?? payload
      return supplierOf(carrier).release({
        number,
        carrierData,
        key: idempotencyKeyOf(releaseKind, id),
        signal,
      })
    },
    conclude(_, reply) {
      if (reply.outcome === 'unknown') return waiting(reply)
      return { state: reply.outcome === 'refused' ? 'failed' : 'done', outcome: replyText(reply) }
    },
  }

  return {
    jobs: [orders, releases] as const,

    async orderEnd(id: string): Promise<OrderEnd | undefined> {
      const work = await queue.find(orderKind, id)
      return work && ends[work.state]
    },

    /**
     * Runs jobs that were just committed, for a caller that waits. An order stays pending if its carrier does not
     * answer in time.
     */
    async carryOut(ids: readonly string[]): Promise<ReadonlyMap<string, OrderEnd>> {
      const found = new Map<string, OrderEnd>(ids.map((id) => [id, 'pending']))
      const left = ids.values()
      const until = store.clock.now() + maxStartMs
      let isAnswered = true
      const work = async () => {
        for (const id of left) {
          if (!isAnswered || store.clock.now() >= until) return
          const ended = await queue.now(orderKind, id)
          if (!ended || ended.state === 'waiting') isAnswered = false
          else found.set(id, ends[ended.state])
        }
      }
      const workers = Array.from({ length: Math.min(maxConcurrentOrders, ids.length) }, work)
      // Jobs that have begun are awaited, also if one failed.
      for (const result of await Promise.allSettled(workers))
        if (result.status === 'rejected') throw result.reason
      return found
    },

    refusal: (number: string) => failure(numberFault, { message: 'fault by carrier', cause: number }),
  }
}
