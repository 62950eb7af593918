// What is written with a number that changes hands outside: its mark, and the errand.
import type { Clock } from '../../../lib/clock.ts'
import type { Json } from '../../../lib/json.ts'
import { type Author, actOf, type ChangeSet } from '../../../storage/change-set.ts'
import type { NumberFacts } from './number-facts.ts'
import type { E911 } from './schema.ts'
import type { NumberHidden } from './store.ts'

// What one commit asks for is asked for in the order of these names: a number is ordered first and given back last.
export const orderKind = 'number_order'
export const registrationKind = 'number_registration'
export const releaseKind = 'number_release'

/** How long whoever committed an order may take to carry it out, before others do. Unix milliseconds. */
export const orderPatienceMs = 30_000

/** Everything that is asked of the outside about a number happens in the order in which it was asked for. */
const subjectOf = (number: string) => `number/${number}`

/** What is to be ordered, and what becomes of the number when it cannot be had. */
interface OrderWish {
  number: string
  carrier: string
  author: Author
  /** Undefined: it was not in the inventory. */
  before?: NumberFacts
}

/** Of an order that was accepted, only what the carrier wants to see again is kept. */
export interface OrderPayload {
  carrierData: Json
  wish?: OrderWish
  /** What it was charged with: see `actOf`. */
  act?: string
}

/** An order that is not answered yet: nothing else about the number happens outside before it is. */
export interface Awaiting {
  order?: string
}

export interface ReleasePayload extends Awaiting {
  number: string
  carrier: string
  carrierData: Json
}

export const awaiting = ({ pendingOrder }: NumberHidden): Awaiting =>
  pendingOrder === undefined ? {} : { order: pendingOrder }

/** What is told to the provider of emergency addresses and names. */
export type Deed =
  | { what: 'address'; address: E911 }
  | { what: 'no address' }
  | { what: 'name'; name: string | undefined }

export interface RegistrationPayload extends Awaiting {
  number: string
  deed: Deed
}

interface Order extends OrderWish {
  id: string
  accountId: string
  carrierData: Json
}

export const addOrder = (set: ChangeSet, { id, accountId, carrierData, ...wish }: Order, clock: Clock) =>
  set.errand<OrderPayload>({
    kind: orderKind,
    id,
    accountId,
    subject: subjectOf(wish.number),
    dueAt: clock.now() + orderPatienceMs,
    payload: { carrierData, wish, act: actOf(set.author) },
  })

interface Release extends ReleasePayload {
  id: string
  accountId: string
}

export const addReturn = (set: ChangeSet, { id, accountId, ...payload }: Release) =>
  set.errand<ReleasePayload>({
    kind: releaseKind,
    id,
    accountId,
    subject: subjectOf(payload.number),
    payload,
  })

interface Registration extends RegistrationPayload {
  id: string
  accountId: string
}

export const addRegistration = (set: ChangeSet, { id, accountId, ...payload }: Registration) =>
  set.errand<RegistrationPayload>({
    kind: registrationKind,
    id,
    accountId,
    subject: subjectOf(payload.number),
    payload,
  })
