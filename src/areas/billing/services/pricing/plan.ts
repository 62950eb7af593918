import type { OperatorLimits } from '../../../../lib/limit-shapes.ts'
import type { Tax } from './taxes.ts'

/** Tier -> dollars. The smallest tier that is not below the quantity applies to all of it. */
export type Tiers = Readonly<Record<string, number>>

interface Discount {
  rate?: number
  minimum?: number
}

interface CumulativeDiscount extends Discount {
  maximum?: number
  rates?: Tiers
}

/** The price of an item. Dollars of at most four decimals. */
export interface ItemPlan {
  name?: string
  /** The bookkeeper's name for it. */
  as?: string
  rate?: number
  rates?: Tiers
  flat_rate?: number
  flat_rates?: Tiers
  minimum?: number
  maximum?: number
  step?: number
  activation_charge?: number
  /** Counts sub-accounts, too. */
  cascade?: boolean
  /** Items that `_all` omits. */
  exceptions?: readonly string[]
  discounts?: { single?: Discount; cumulative?: CumulativeDiscount }
  /** What is prorated. Without it the next bill charges the whole month. */
  prorate?: { additions?: boolean; removals?: boolean }
  taxes?: readonly Tax[]
  /** Counts another item instead. */
  quantity?: { category?: string; name?: string }
}

/** Category -> item -> price. `_all` is every item of its category. */
export type ItemPlans = Record<string, Record<string, ItemPlan>>

export const allItems = '_all'

export interface Bookkeeper {
  id: string
  type: string
  vendor_id: string
}

export type MergeStrategy = 'simple' | 'recursive' | 'cumulative'

export interface Application {
  name?: string
  vendor_id?: string
  enabled?: boolean
}

interface Messages {
  enabled?: boolean
  rate?: { inbound?: number; outbound?: number }
}

export interface MessagePrices {
  sms?: Messages
  mms?: Messages
}

/** The default price in dollars of one message. */
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
