import { gregorianOfUnix } from '../../lib/gregorian.ts'

/** An errand without what it says. Times in Unix milliseconds. */
export interface Work {
  kind: string
  id: string
  accountId: string
  state: 'waiting' | 'done' | 'failed'
  dueAt: number
  since: number
  attempts: number
  outcome: string
  finishedAt: number
}

const gregorianOf = (unixMs: number) => gregorianOfUnix(Math.floor(unixMs / 1000))

export const workJson = ({
  kind,
  id,
  accountId,
  state,
  attempts,
  dueAt,
  since,
  outcome,
  finishedAt,
}: Work) => ({
  id,
  kind,
  account_id: accountId,
  state,
  attempts,
  ...(state === 'waiting' ? { due: gregorianOf(dueAt) } : {}),
  since: gregorianOf(since),
  outcome,
  ...(state === 'waiting' ? {} : { finished: gregorianOf(finishedAt) }),
})
