import type { OperatorLimits } from '../../../../lib/limit-shapes.ts'
import type { Tax } from './taxes.ts'

// The plan document: what a reseller charges for what.

/** Tier -> dollars: the smallest tier that is not below the quantity holds for all of it. */
export type Tiers = Readonly<Record<string, number>>

interface Discount {
  rate?: number
  minimum?: number
}

interface CumulativeDiscount extends Discount {
  maximum?: number
  rates?: Tiers
}

/** How one item is counted and priced. Money is in dollars of at most four decimals. */
export interface ItemPlan {
  name?: string
  /** What the bookkeeper calls the item. */
  as?: string
  rate?: number
  rates?: Tiers
  flat_rate?: number
  flat_rates?: Tiers
  minimum?: number
  maximum?: number
  step?: number
  activation_charge?: number
  /** Counts what all accounts below have as well. */
  cascade?: boolean
  /** Items that `_all` leaves out. */
  exceptions?: readonly string[]
  discounts?: { single?: Discount; cumulative?: CumulativeDiscount }
  /** What is settled by the day. Absent: nothing is, the next bill has the whole month. */
  prorate?: { additions?: boolean; removals?: boolean }
  taxes?: readonly Tax[]
  /** Counts another item instead. */
  quantity?: { category?: string; name?: string }
}

/** Category -> item -> how it is priced. `_all` stands for every item of its category. */
export type ItemPlans = Record<string, Record<string, ItemPlan>>

export const allItems = '_all'

export interface Bookkeeper {
  id: string
  type: string
  vendor_id: string
}

export type MergeStrategy = 'simple' | 'recursive' | 'cumulative'

/** An application that accounts with the plan are offered. */
export interface Application {
  name?: string
  vendor_id?: string
  enabled?: boolean
}

interface Messages {
  enabled?: boolean
  rate?: { inbound?: number; outbound?: number }
}

/** What messages cost, and whether numbers may have them. */
export interface MessagePrices {
  sms?: Messages
  mms?: Messages
}

/** Dollars for one message where a plan says no price. */
export const messagePrices = { sms: 0.007, mms: 0.015 } as const

export interface PlanDoc {
  name?: string
  description?: string
  category?: string
  plan?: ItemPlans
  merge?: { strategy?: MergeStrategy; priority?: number }
  bookkeeper?: Partial<Bookkeeper>
  ratedeck?: { id?: string; name?: string }
  applications?: Record<string, Application>
  limits?: OperatorLimits
  im?: MessagePrices
  asr?: object
}
