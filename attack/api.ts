// Honest requests: what the stage is built with.
import { createHash, randomUUID } from 'node:crypto'
import { adminPassword } from './server.ts'
import { Caller, Cut, type WireAnswer } from './wire.ts'

/** What a test or a figure reads of an answer. */
export interface Answer {
  status: number
  // biome-ignore lint/suspicious/noExplicitAny: answers of every shape are looked into
  data: any
  metadata: Record<string, unknown>
  auth_token: string
}

export type Api = ReturnType<typeof createApi>

const attempts = 50

/** Temporary refusals: a killed backend, an empty bucket, or the same request still in progress. */
const isPassing = ({ status, body }: WireAnswer) =>
  status === 429 || status === 503 || (status === 409 && body.includes('is under way'))

export const createApi = (port: number, token = '') => {
  // A caller sends one request at a time.
  const idle: Caller[] = []

  const askRaw = async (
    method: string,
    path: string,
    body: Buffer | undefined,
    contentType: string,
    by: string,
    idempotencyKey?: string,
  ) => {
    const caller = idle.pop() ?? new Caller(port)
    const headers = {
      ...(idempotencyKey ? { 'idempotency-key': idempotencyKey } : {}),
      ...(body ? { 'content-type': contentType } : {}),
      ...(by ? { 'x-auth-token': by } : {}),
    }
    try {
      return await caller.send({ method, path, headers, body })
    } finally {
      idle.push(caller)
    }
  }

  // Backends are killed while the stage is built, too: what was not done for that is asked for again.
  const insist = async (ask: () => Promise<WireAnswer>) => {
    for (let attempt = 1; ; attempt += 1) {
      const answer = await ask().catch((error: unknown) => {
        if (error instanceof Cut && attempt < attempts) return undefined
        throw error
      })
      if (answer && (!isPassing(answer) || attempt === attempts)) return answer
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  }

  const read = (method: string, path: string, { status, body }: WireAnswer): Answer => {
    const text = body.toString('utf8')
    if (status >= 300) throw new Error(`${method} ${path}: ${status} ${text.slice(0, 1000)}`)
    return { ...JSON.parse(text), status }
  }

  return {
    /** The raw answer, whatever it is. */
    ask: (method: string, path: string, data?: unknown, by = token) =>
      insist(() =>
        askRaw(
          method,
          path,
          data === undefined ? undefined : Buffer.from(JSON.stringify({ data })),
          'application/json',
          by,
        ),
      ),
    /** Succeeds or throws. */
    async call(method: string, path: string, data?: unknown, by = token, envelope: object = {}) {
      const body = data === undefined ? undefined : Buffer.from(JSON.stringify({ data, ...envelope }))
      // A record whose answer was lost is not made twice.
      const key = method === 'PUT' && by !== '' ? randomUUID() : undefined
      return read(method, path, await insist(() => askRaw(method, path, body, 'application/json', by, key)))
    },
    async upload(path: string, contentType: string, body: Buffer, method = 'POST') {
      return read(method, path, await insist(() => askRaw(method, path, body, contentType, token)))
    },
    close: () => {
      for (const caller of idle.splice(0)) caller.close()
    },
  }
}

export const credentialsOf = (username: string, password: string) =>
  createHash('md5').update(`${username}:${password}`).digest('hex')

/** The first requests of a new store cost more: their cost is subtracted. */
const free = { token_costs: 0, user_auth_tokens: 0, api_auth_tokens: 0 }

export const setPrices = (operator: Api, prices: Record<string, unknown> = free) =>
  operator.call('PATCH', '/v2/system_configs/crossbar', { default: prices })

/** How large the buckets are that prices are paid from, and how fast they fill. */
export const setBuckets = (operator: Api, buckets: Record<string, unknown>) =>
  operator.call('PATCH', '/v2/system_configs/token_buckets', { default: buckets })

// A million requests take more than the hour that a token is usually valid.
const longSessions = { token_auth_expiry_s: 86_400 }

/** The operator, signed in for a day. */
export const signInOperator = async (port: number) => {
  const anyone = createApi(port)
  const signIn = { account_name: 'master', credentials: credentialsOf('admin', adminPassword) }
  const short = createApi(port, (await anyone.call('PUT', '/v2/user_auth', signIn)).auth_token)
  await short.call('PATCH', '/v2/system_configs/crossbar.auth', { default: longSessions })
  short.close()
  const { data, auth_token } = await anyone.call('PUT', '/v2/user_auth', signIn)
  anyone.close()
  const masterId: string = data.account_id
  return { operator: createApi(port, auth_token), token: auth_token, masterId, userId: String(data.owner_id) }
}
