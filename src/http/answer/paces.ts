import type { Exchange } from '../exchange.ts'
import { type InTurn, isLongPage, type ListPlan, type RowText } from './listing.ts'
import { inTurn } from './sending.ts'

// What lists have in common, however they are written: whose turn it is, and how much room they take.

/** The room of a stream of rows in the making and on their way. */
export const rowStreamBytes = 2_000_000

export const longTurns =
  (exchange: Exchange): InTurn =>
  (work) =>
    inTurn(exchange, 'long', work)

export const pagePace = (exchange: Exchange, plan: ListPlan) => {
  const kind = isLongPage(plan) ? 'long' : 'short'
  const pace: InTurn = (work) => inTurn(exchange, kind, work)
  return { now: exchange.frame.clock.now, inTurn: pace }
}

export const bytesOf = (rows: readonly RowText[]) => rows.reduce((sum, { length }) => sum + length, 0)
