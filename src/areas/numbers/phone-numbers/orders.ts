import type { Json } from '../../../lib/json.ts'
import type { Author, ChangeSet } from '../../../storage/change-set.ts'
import type { NumberFacts } from './number-facts.ts'

// One change set runs its jobs in the order of these names: a number is ordered first and returned last.
export const orderKind = 'number_order'
export const releaseKind = 'number_release'

/** Time in ms for the request to run its own order; afterwards the queue runs it. */
export const orderTimeoutMs = 30_000

/** Jobs of one number run one after the other. */
const subjectOf = (number: string) => `number/${number}`

/** `before`: the number in the inventory, restored if the carrier refuses. */
interface OrderWish {
  number: string
  carrier: string
  author: Author
  before?: NumberFacts
}

/** An accepted order keeps only the carrier's data. */
export interface OrderPayload {
  carrierData: Json
  wish?: OrderWish
  /** See `actOf`. */
  act?: string
}

export interface ReleasePayload {
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
  set.errand({ kind, ...place, subject: subjectOf(number), payload })
}
