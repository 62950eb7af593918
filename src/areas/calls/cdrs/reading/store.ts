import type { ListQuery } from '../../../../lib/question.ts'
import type { Value } from '../../../../storage/db.ts'
import { storedColumns } from '../columns.ts'
import type { Place, TimeWindow } from './rules.ts'

export const selectedColumns = storedColumns.join(', ')

/** Hands a value to a statement and gives back its placeholder. */
export type Mark = (value: Value) => string

/** The values of a statement in the making. */
export interface Params {
  params: Value[]
  mark: Mark
}

export const createParams = (): Params => {
  const params: Value[] = []
  return { params, mark: (value) => `$${params.push(value)}` }
}

/** The columns that a list is ordered by. */
interface Order {
  time: string
  mark: string
}

export const legOrder: Order = { time: 'created', mark: 'id' }
export const interactionOrder: Order = { time: 'interaction_time', mark: 'interaction_key' }

export const orderBy = ({ time, mark }: Order, descending: boolean) => {
  const direction = descending ? 'DESC' : 'ASC'
  return `ORDER BY ${time} ${direction}, ${mark} ${direction}`
}

/** Whose legs. */
export interface Holder {
  accountId: string
  ownerId?: string
}

/** Whose legs, of which time, and which of them. */
export interface Scope extends Holder, TimeWindow {
  /** Filters that the store applies. */
  questions: readonly ListQuery[]
}

export interface Reading {
  after: Place | undefined
  limit: number
  descending: boolean
  /** Beside the event loop. */
  long: boolean
}

export const heldBy = ({ accountId, ownerId }: Holder, mark: Mark) =>
  `account_id = ${mark(accountId)}${ownerId === undefined ? '' : ` AND owner_id = ${mark(ownerId)}`}`

interface Ends {
  /** Exclusive. */
  after?: Place | undefined
  /** Inclusive. */
  until?: Place | undefined
  descending: boolean
}

/**
 * The rows of a window from one place to another. A place stands for the bound of time on its side, so that one range
 * of the index is read, however deep a page lies.
 */
export const rangeOf = (
  { from, to }: TimeWindow,
  { time, mark: tie }: Order,
  { after, until, descending }: Ends,
  mark: Mark,
) => {
  const compared = (place: Place, sign: string) =>
    `(${time}, ${tie}) ${sign} (${mark(place.time)}, ${mark(place.mark)})`
  const [low, high] = descending ? [until, after] : [after, until]
  const lower = low ? compared(low, descending ? '>=' : '>') : `${time} >= ${mark(from)}`
  const upper = high ? compared(high, descending ? '<' : '<=') : `${time} <= ${mark(to)}`
  return `${lower} AND ${upper}`
}
