import type { Job, JobKind, Queue } from '../../../jobs/queue.ts'
import { failure } from '../../../lib/failure.ts'
import type { Json } from '../../../lib/json.ts'
import { ChangeSet } from '../../../storage/change-set.ts'
import type { Store } from '../../../storage/store.ts'
import type { Reply } from './carriers/carrier.ts'
import { numberFault } from './failures.ts'
import type { FeatureProvider, Registrar } from './features/operations.ts'
import { type CarrierRequests, factsOf, foundRecord } from './number-facts.ts'
import {
  type Awaiting,
  type OrderPayload,
  orderKind,
  orderPatienceMs,
  type RegistrationPayload,
  type ReleasePayload,
  registrationKind,
  releaseKind,
} from './orders.ts'
import { createNumberView, type NumberPlanner } from './planner.ts'
import { numberOrderRefused } from './signals.ts'

interface Deps {
  store: Store
  queue: Queue
  desk: CarrierRequests
  book: NumberPlanner
  provider: FeatureProvider
}

/** How an order stands. */
export type OrderEnd = 'accepted' | 'refused' | 'pending'

const ends = { done: 'accepted', failed: 'refused', waiting: 'pending' } as const

/** What the carrier is asked under: the same whenever it is asked again. */
const keyOf = (kind: string, id: string) => `${kind}/${id}`

const ordersAtOnce = 8
// Whoever waits for orders begins none that others might begin at the same time.
const longestBeginningMs = orderPatienceMs / 2

/** An order that was refused leaves nothing to be given back, or registered. */
const unneeded = { outcome: 'unneeded' } as const

const asText = (reply: { reason?: string; message?: string; outcome: string }) =>
  reply.reason ?? reply.message ?? reply.outcome

/** What is asked of carriers and providers once a number's change is committed, and what follows from their answers. */
export const createNumberJobs = ({ store, queue, desk, book, provider }: Deps) => {
  const { numbers, settle, addRemoval } = book

  const supplierOf = (carrier: string) => {
    const { supplier } = desk.of(carrier)
    if (!supplier) throw new Error(`nobody can be asked for numbers of ${carrier}`)
    return supplier
  }

  /** The order that something about a number comes after, as it ended. */
  const orderBefore = async ({ order }: Awaiting) => {
    const work = order === undefined ? undefined : await queue.find(orderKind, order)
    if (!work) return undefined
    const payload: OrderPayload = JSON.parse(work.payload)
    return { isRefused: work.state === 'failed', payload }
  }

  /** The way forth: the number is its owner's for good. */
  const confirm = async ({ id, payload: { wish } }: Job<OrderPayload>, carrierData: Json) => {
    if (!wish) return []
    const stored = await numbers.findAnywhere(wish.number)
    if (stored?.hidden.pendingOrder !== id) return []
    const { pendingOrder: _, ...hidden } = stored.hidden
    const facts = { ...factsOf(stored), hidden: { ...hidden, carrierData } }
    const set = new ChangeSet(wish.author)
    await settle(createNumberView(numbers), set, foundRecord(stored.id, stored), facts)
    return [set]
  }

  /** The way back: the number is where it was before, and so are the counts of whoever was to have it. */
  const undo = async ({ id, accountId, payload: { wish, act } }: Job<OrderPayload>) => {
    if (!wish) return []
    const { author, before, number } = wish
    const stored = await numbers.findAnywhere(number)
    const isWaiting = stored?.hidden.pendingOrder === id
    // Its owner did not wait for the answer. Nobody else has it since, or there would be an order.
    const isLeft = stored?.accountId === '' && stored.hidden.givenBack && !before
    // Nobody asks for this: it is what the carrier's answer comes to.
    const set = new ChangeSet({ requestId: author.requestId })
    set.isCorrection = true
    set.tell(numberOrderRefused, { orderId: id, number, author, act, accountId })
    const view = createNumberView(numbers)
    if (stored && isWaiting && before) await settle(view, set, foundRecord(number, stored), before)
    else if (stored && (isWaiting || isLeft)) await addRemoval(view, set, stored)
    else set.record({ accountId, kind: orderKind, id, action: 'deleted' })
    return [set]
  }

  const waiting = (reply: { reason: string; isDown: boolean }) =>
    ({ state: 'waiting', outcome: reply.reason, isOutsideDown: reply.isDown }) as const

  const orders: JobKind<OrderPayload, Reply> = {
    kind: orderKind,
    atOnce: ordersAtOnce,
    ask({ id, payload: { carrierData, wish } }, signal) {
      if (!wish) throw new Error('an order that has ended is asked for again')
      const { number, carrier } = wish
      return supplierOf(carrier).order({ number, carrierData, key: keyOf(orderKind, id), signal })
    },
    async conclude(errand, reply) {
      if (reply.outcome === 'unknown') return waiting(reply)
      if (reply.outcome === 'refused')
        return { state: 'failed', outcome: reply.reason, sets: await undo(errand) }
      const { carrierData } = reply
      return { state: 'done', sets: await confirm(errand, carrierData), keep: { carrierData } }
    },
  }

  const releases: JobKind<ReleasePayload, Reply | typeof unneeded> = {
    kind: releaseKind,
    async ask({ id, payload }, signal) {
      const order = await orderBefore(payload)
      if (order?.isRefused) return unneeded
      const { number, carrier } = payload
      const { carrierData } = order?.payload ?? payload
      return supplierOf(carrier).release({ number, carrierData, key: keyOf(releaseKind, id), signal })
    },
    conclude(_, reply) {
      if (reply.outcome === 'unknown') return waiting(reply)
      return { state: reply.outcome === 'refused' ? 'failed' : 'done', outcome: asText(reply) }
    },
  }

  const perform = async (
    registrar: Registrar,
    { number, deed }: RegistrationPayload,
    accountId: string,
    key: string,
  ) => {
    const subscriber = { number, accountId }
    if (deed.what === 'address') return registrar.registerAddress(subscriber, deed.address, key)
    if (deed.what === 'no address') await registrar.removeAddress(subscriber, key)
    else await registrar.registerName(subscriber, deed.name, key)
    return { outcome: 'registered' } as const
  }

  type Registered = Awaited<ReturnType<Registrar['registerAddress']>>

  /** An address that emergency services do not know says so, as long as it is the number's. */
  const mark = async ({ number, deed }: RegistrationPayload, accountId: string) => {
    const stored = await numbers.find(accountId, number)
    if (!stored || deed.what !== 'address') return []
    const { e911 } = stored.hidden.features
    if (JSON.stringify(e911) !== JSON.stringify(deed.address)) return []
    const marked = { ...deed.address, status: 'ERROR' as const }
    const { doc, hidden, ...facts } = factsOf(stored)
    const set = new ChangeSet({ requestId: `errand/${registrationKind}` })
    await settle(createNumberView(numbers), set, foundRecord(number, stored), {
      ...facts,
      doc: { ...doc, e911: marked },
      hidden: { ...hidden, features: { ...hidden.features, e911: marked } },
    })
    return [set]
  }

  const registrations: JobKind<RegistrationPayload, Registered | typeof unneeded> = {
    kind: registrationKind,
    async ask({ id, accountId, payload }) {
      const { registrar } = provider
      const isMoot = !registrar || (await orderBefore(payload))?.isRefused
      return isMoot ? unneeded : perform(registrar, payload, accountId, keyOf(registrationKind, id))
    },
    async conclude({ payload, accountId }, reply) {
      if (reply.outcome !== 'refused') return { state: 'done', outcome: asText(reply) }
      return { state: 'failed', outcome: reply.message, sets: await mark(payload, accountId) }
    },
  }

  return {
    jobs: [orders, registrations, releases] as const,

    /** How an order stands; undefined: there is none, or it ended long ago. */
    async orderEnd(id: string): Promise<OrderEnd | undefined> {
      const work = await queue.find(orderKind, id)
      return work && ends[work.state]
    },

    /**
     * Carries out orders that were just committed, for somebody who waits for their ends. What a carrier does not
     * answer stays pending, and so does what is left when carriers are slow.
     */
    async carryOut(ids: readonly string[]): Promise<ReadonlyMap<string, OrderEnd>> {
      const found = new Map<string, OrderEnd>(ids.map((id) => [id, 'pending']))
      const left = ids.values()
      const until = store.clock.now() + longestBeginningMs
      let isAnswered = true
      const work = async () => {
        for (const id of left) {
          if (!isAnswered || store.clock.now() >= until) return
          const ended = await queue.now(orderKind, id)
          if (!ended || ended.state === 'waiting') isAnswered = false
          else found.set(id, ends[ended.state])
        }
      }
      const workers = Array.from({ length: Math.min(ordersAtOnce, ids.length) }, work)
      // What was begun is seen to its end, also when the store has failed.
      for (const result of await Promise.allSettled(workers))
        if (result.status === 'rejected') throw result.reason
      return found
    },

    /** What is told of a number that its carrier did not give. */
    refusal: (number: string) => failure(numberFault, { message: 'fault by carrier', cause: number }),
  }
}
