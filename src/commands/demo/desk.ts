import type { RunningServer } from '../../compose.ts'
import { isObject, type Json } from '../../lib/json.ts'
import type { Chance } from './chance.ts'
import type { Past } from './past.ts'

interface Sent {
  type?: string
  body?: string | Uint8Array<ArrayBuffer>
  query?: string
}

/** Somebody who works with the API, as every client does. */
export interface Caller {
  get(path: string): Promise<Json>
  put(path: string, data: unknown): Promise<Json>
  post(path: string, data: unknown): Promise<Json>
  patch(path: string, data?: unknown): Promise<Json>
  delete(path: string): Promise<Json>
  /** Sends what is no JSON; answers with the whole envelope. */
  send(method: string, path: string, sent: Sent): Promise<Json>
}

export type DemoClient = ReturnType<typeof createDemoClient>

/** Whatever the demo asks for has to succeed: else it ends with what the server said. */
export class Refused extends Error {}

export const textIn = (record: Json, key: string): string => {
  const value = record[key]
  if (typeof value !== 'string') throw new Refused(`an answer has no ${key}`)
  return value
}

/** A part of an answer. */
export const partOf = (record: Json, key: string): Json => {
  const value = record[key]
  return isObject(value) ? value : {}
}

const maxTries = 20
const secondMs = 1000

/** Where people of the story sit and work; each request takes its while. */
export const createDemoClient = (
  server: Pick<RunningServer, 'port' | 'areas'>,
  past: Past,
  chance: Chance,
) => {
  const { accounts, users, signIn } = server.areas
  const base = `http://127.0.0.1:${server.port}/v2/`

  const attempt = async (method: string, path: string, token: string, { type, body, query }: Sent) => {
    past.pass(chance.whole(10, 60) * secondMs)
    const response = await fetch(`${base}${path}${query ? `?${query}` : ''}`, {
      method,
      headers: { 'x-auth-token': token, ...(type ? { 'content-type': type } : {}) },
      ...(body === undefined ? {} : { body }),
    })
    return { response, text: await response.text() }
  }

  const ask = async (method: string, path: string, token: string, sent: Sent): Promise<Json> => {
    for (let tries = 1; ; tries += 1) {
      const { response, text } = await attempt(method, path, token, sent)
      const isToRepeat = response.status === 429 || (response.status === 409 && method !== 'PUT')
      if (isToRepeat && tries < maxTries) continue
      const answer: unknown = text === '' ? {} : JSON.parse(text)
      if (!isObject(answer)) throw new Refused(`${method} ${path}: ${text}`)
      if (!response.ok)
        throw new Refused(`${method} ${path}: ${response.status} ${JSON.stringify(answer.data)}`)
      return answer
    }
  }

  const callerWith = (token: string): Caller => {
    const json = async (method: string, path: string, data?: unknown) => {
      // Nobody of this story is surprised by what things cost.
      const body = data === undefined ? undefined : JSON.stringify({ data, accept_charges: true })
      const sent = body === undefined ? {} : { type: 'application/json', body }
      return partOf(await ask(method, path, token, sent), 'data')
    }
    return {
      get: (path) => json('GET', path),
      put: (path, data) => json('PUT', path, data),
      post: (path, data) => json('POST', path, data),
      patch: (path, data) => json('PATCH', path, data),
      delete: (path) => json('DELETE', path),
      send: (method, path, sent) => ask(method, path, token, sent),
    }
  }

  return {
    /** A user at work: the session is as long as the story. */
    async of(accountId: string, userId: string): Promise<Caller> {
      const account = await accounts.get(accountId)
      const user = await users.get(accountId, userId)
      const lifetimeSeconds = Math.ceil((past.end - past.now()) / secondMs) + 3600
      const { token } = await signIn.openSession(account, user, { lifetimeSeconds })
      return callerWith(token)
    },
  }
}
