// Users of the demo at work: their requests go over HTTP, and each takes some time of a clock that runs through the past.
import type { RunningServer } from '../src/compose.ts'
import type { Clock } from '../src/lib/clock.ts'
import { dayMs } from '../src/lib/gregorian.ts'
import { isObject, type Json } from '../src/lib/json.ts'
import { memberOf } from '../src/lib/member.ts'
import { Refusal } from '../src/storage/saved-store.ts'
import type { Random } from './random.ts'

/** A clock that goes through the past when it is moved: never backwards, and never beyond the end. */
export interface History extends Clock {
  readonly end: number
  /** The time this number of days before the end. */
  daysAgo(days: number): number
  goTo(unixMilliseconds: number): void
  pass(milliseconds: number): void
}

export const createHistory = (end: number, days: number): History => {
  let now = end - days * dayMs
  const goTo = (moment: number) => {
    now = Math.min(end, Math.max(now, moment))
  }
  return {
    end,
    now: () => now,
    daysAgo: (count) => end - count * dayMs,
    goTo,
    pass: (milliseconds) => goTo(now + milliseconds),
  }
}

interface Content {
  type: string
  body: string | Uint8Array<ArrayBuffer>
}

/** Sends a request such as `PUT accounts/{id}/users`, and returns the whole envelope; a request that fails ends the demo. */
export type Send = (request: string, data?: unknown, content?: Content) => Promise<Json>

/** The id of the record or task that a response is about. */
export const idIn = ({ data, metadata }: Json): string => {
  const id = memberOf(data, 'id') ?? memberOf(metadata, 'id')
  if (typeof id !== 'string') throw new Refusal('a response has no id')
  return id
}

const maxAttempts = 20
const secondMs = 1000

/** Opens sessions that last as long as the demo. */
export const createSignIn = (
  { port, areas }: Pick<RunningServer, 'port' | 'areas'>,
  history: History,
  random: Random,
) => {
  const attempt = async (token: string, request: string, content: Content | undefined) => {
    history.pass(random.whole(10, 60) * secondMs)
    const [method = '', path = ''] = request.split(' ')
    const response = await fetch(`http://127.0.0.1:${port}/v2/${path}`, {
      method,
      headers: { 'x-auth-token': token, ...(content && { 'content-type': content.type }) },
      body: content?.body ?? null,
    })
    return { response, text: await response.text(), isCreating: method === 'PUT' }
  }

  return async (accountId: string, userId: string): Promise<Send> => {
    const [account, user] = [await areas.accounts.get(accountId), await areas.users.get(accountId, userId)]
    const lifetimeSeconds = Math.ceil((history.end - history.now()) / secondMs) + 3600
    const { token } = await areas.signIn.openSession(account, user, { lifetimeSeconds })
    return async (request, data, content) => {
      const json = { type: 'application/json', body: JSON.stringify({ data, accept_charges: true }) }
      for (let attempts = 1; ; attempts += 1) {
        const sent = await attempt(token, request, content ?? (data === undefined ? undefined : json))
        const { response, text, isCreating } = sent
        const isToRepeat = response.status === 429 || (response.status === 409 && !isCreating)
        if (isToRepeat && attempts < maxAttempts) continue
        const envelope: unknown = text === '' ? {} : JSON.parse(text)
        if (!isObject(envelope) || !response.ok) throw new Refusal(`${request}: ${response.status} ${text}`)
        return envelope
      }
    }
  }
}
