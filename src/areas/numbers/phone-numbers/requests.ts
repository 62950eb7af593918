// What is asked for of numbers, and what is planned then.
import { type AccountRecord, type Actor, isSuperduper, isWithin } from '../../../auth/identity.ts'
import type { Json } from '../../../lib/json.ts'
import type { Author, ChangeSet } from '../../../storage/change-set.ts'
import type { Carrier, Offer } from './carriers/carrier.ts'
import { factsOf, type NumberFacts } from './draft.ts'
import type { StateBefore } from './rules.ts'
import type { NumberRecord } from './store.ts'

/** With whose rights something is done. An actor is one. */
export type NumberCaller = Pick<Actor, 'accountId' | 'account' | 'user'>

export interface NumberRequest {
  by: NumberCaller
  author: Author
  /** The account that has the number, or is to get it. */
  account: AccountRecord
  /** As it was sent. */
  number: string
  /** Of the order that is made if the number has to come from outside; else a new one. */
  orderId?: string
}

export interface Existing extends NumberRequest {
  /** `tree`: numbers of the accounts below are meant as well. Else only the account's own. */
  reach?: 'account' | 'tree'
}

export interface Creation extends NumberRequest {
  fields: Json
  /** Else what the fields say, else in_service. */
  state?: string
  carrier?: string
  portedIn?: boolean
}

export interface Activation extends NumberRequest {
  /** Replace the public fields; without them, those stay. */
  fields?: Json
}

export interface Update extends Existing {
  fields: Json
  how: 'merge' | 'replace'
}

export interface Use {
  accountId: string
  number: string
  /** Undefined: nothing any more. */
  usedBy: 'callflow' | 'trunkstore' | undefined
}

/** What is going to happen to a number. Nothing has happened yet. */
export interface NumberPlan {
  /** Undefined when there is nothing to write. */
  set: ChangeSet | undefined
  /** As it is afterwards; when it is removed, as it is told to be gone. */
  number: NumberRecord
  deleted: boolean
  /** What the carrier is asked for once the plan is committed. */
  order?: string
}

/** Where numbers come from that the inventory does not have, and who has to know when they change hands. */
export interface CarrierRequests {
  /** What a search of the account has brought up lately. */
  offered(accountId: string, number: string): Promise<Offer | undefined>
  of(module: string): Carrier
}

/** A number that an operation works on. `stored` is what the inventory has of it. */
export interface Found {
  number: string
  stored: NumberRecord | undefined
  facts: NumberFacts
  state: StateBefore
}

export const noFacts: NumberFacts = {
  accountId: '',
  state: 'discovery',
  carrier: '',
  usedBy: '',
  doc: {},
  hidden: { features: {} },
}

export const foundRecord = (number: string, stored: NumberRecord): Found => ({
  number,
  stored,
  facts: factsOf(stored),
  state: stored.state,
})

export const rightsOf = (by: NumberCaller) => ({
  isOperator: isSuperduper(by),
  allowsAdditions: by.account.hidden.allowsNumberAdditions,
})

/** Whether the caller may deal with the account that owns a number. */
export const reaches = (by: NumberCaller, owner: AccountRecord | undefined) =>
  owner !== undefined && isWithin(by, owner)
