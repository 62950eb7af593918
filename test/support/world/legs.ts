// Legs of calls for tests that read them, sent in as a switch would.

import { gregorianNow } from '../../../src/lib/gregorian.ts'
import type { Json } from '../../../src/lib/json.ts'
import type { TestAccount, World } from './world.ts'

/** The tests' own time: 2026-01-05T12:00:00Z. */
export const nowOf = ({ clock }: World) => gregorianNow(clock)

let made = 0

/** A leg of an account that ended at `timestamp`, of 30 seconds or of its billed duration. */
export const legOf = (account: TestAccount, timestamp: number, more: Json = {}): Json => {
  made += 1
  const { custom_channel_vars: variables, ...fields } = more
  const { billing_seconds: billed = 0, duration_seconds = Math.max(30, billed as number) } = fields
  const duration = duration_seconds as number
  return {
    call_id: `leg-${made}`,
    timestamp,
    duration_seconds: duration,
    interaction_time: timestamp - duration,
    interaction_key: made.toString(16).padStart(8, '0'),
    call_direction: 'inbound',
    ...fields,
    custom_channel_vars: { account_id: account.id, ...(variables as Json | undefined) },
  }
}

/** Stores legs and gives back their ids. */
export const sendLegs = async (world: World, legs: readonly Json[]): Promise<void> => {
  const answer = await world.operator.put('/v2/cdrs', legs)
  if (answer.status < 300 && answer.data.accepted === legs.length) return
  throw new Error(`the legs were not stored: ${answer.text.slice(0, 1000)}`)
}

/** All rows of a list, page after page. */
export const pagesOf = async (
  get: (
    query: Record<string, string>,
  ) => Promise<{ status: number; text: string; data: Json[]; body: { next_start_key?: string } }>,
) => {
  const pages: Json[][] = []
  let key: string | undefined
  do {
    const answer = await get(key === undefined ? {} : { start_key: key })
    if (answer.status !== 200) throw new Error(answer.text)
    pages.push(answer.data)
    key = answer.body.next_start_key
  } while (key !== undefined)
  return pages
}
