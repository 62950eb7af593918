// Requests to a CouchDB, with credentials, time-outs and retries. Errors name server and database, never a
// credential.
import { setTimeout as sleep } from 'node:timers/promises'
import { isObject } from '../../src/lib/json.ts'
import {
  type ConnectionRequest,
  createConnectionPool,
  type PooledResponse,
} from '../../src/outgoing/kept-connections.ts'
import { bytesIn, objectIn } from './documents.ts'
import { SourceTrouble } from './source.ts'

export class Fault extends Error {}

interface Credentials {
  name: string
  password: string
}

export interface Place {
  /** Without credentials and without a trailing slash. */
  base: string
  host: string
  credentials: Credentials | undefined
}

export interface Patience {
  pause(milliseconds: number): Promise<void>
  /** Time without data until an attempt fails. */
  silenceMs: number
}

export const usualPatience: Patience = {
  pause: (milliseconds) => sleep(milliseconds),
  silenceMs: 60_000,
}

const tries = 8
const firstPauseMs = 500
const longestPauseMs = 30_000

export const pauseAfter = (faults: number) => Math.min(longestPauseMs, firstPauseMs * 2 ** (faults - 1))

export const isLastTry = (faults: number) => faults >= tries

/** A code such as ECONNREFUSED: messages may contain the address with its credentials. */
const codeOf = (error: unknown): string => {
  const inner = error instanceof Error && error.cause !== undefined ? error.cause : error
  const code = isObject(inner) && typeof inner.code === 'string' ? inner.code : undefined
  return code ?? (inner instanceof Error ? inner.name : 'no answer')
}

/** Retries cannot fix a certificate. */
const isOfCertificate = (code: string) => /CERT|SELF_SIGNED|UNABLE_TO_|ERR_TLS/.test(code)

const maxAnswerBytes = 64 * 1024 * 1024

const sessionCookie = ({ headers }: PooledResponse) =>
  headers['set-cookie']
    ?.map((cookie) => /^AuthSession=[^;]+/.exec(cookie)?.[0])
    .find((cookie) => cookie !== undefined && cookie !== 'AuthSession=')

const nameIn = (path: string) => {
  const [name = ''] = path.slice(1).split(/[/?]/)
  return name === '' ? 'it' : decodeURIComponent(name)
}

/** `deleted` or `missing`. */
const reasonIn = (text: string) => {
  const reason = objectIn(text)?.reason
  return typeof reason === 'string' ? reason : 'missing'
}

type During = <Value>(work: Promise<Value>) => Promise<Value>

async function* piecesOf(message: PooledResponse, during: During): AsyncGenerator<Uint8Array> {
  const pieces = message[Symbol.asyncIterator]()
  const next = () => during(pieces.next())
  try {
    for (let { done, value } = await next(); !done; { done, value } = await next()) yield value
  } finally {
    message.destroy()
  }
}

export type Connection = ReturnType<typeof createConnection>

export const createConnection = ({ base, host, credentials }: Place, patience: Patience) => {
  const pool = createConnectionPool(base)
  const signed = createSignedRequests({ host, credentials }, createSending(pool, host, patience))

  /** Retries faults. */
  const again = async <Found>(what: string, work: () => Promise<Found>): Promise<Found> => {
    for (let faults = 1; ; faults += 1) {
      try {
        return await work()
      } catch (error) {
        if (!(error instanceof Fault)) throw error
        if (isLastTry(faults)) throw new SourceTrouble(`${host}: ${what} could not be read: ${error.message}`)
        await patience.pause(pauseAfter(faults))
      }
    }
  }

  return {
    host,
    ask: signed,
    again,
    close: pool.close,
    text: (path: string, what: string): Promise<{ text: string } | { missing: string }> =>
      again(what, async () => {
        const answer = await signed(path)
        const bytes = await bytesIn(answer.pieces(), maxAnswerBytes)
        if (bytes === 'too large') return { missing: `it has more than ${maxAnswerBytes / 1024 / 1024} MB` }
        const text = bytes.toString('utf8')
        return answer.status === 200 ? { text } : { missing: reasonIn(text) }
      }),
  }
}

const createSending = (
  pool: ReturnType<typeof createConnectionPool>,
  host: string,
  { silenceMs }: Patience,
) => {
  const faultOf = (error: unknown, isSilent: boolean) => {
    if (isSilent) return new Fault(`silent for ${silenceMs / 1000} s`)
    const code = codeOf(error)
    if (isOfCertificate(code)) return new SourceTrouble(`${host}: its certificate is not accepted (${code})`)
    return new Fault(code)
  }

  /** Aborts a request after `silenceMs` without data. */
  const createWatch = () => {
    const ending = new AbortController()
    const during: During = async (work) => {
      const timer = setTimeout(() => ending.abort(), silenceMs)
      try {
        return await work
      } catch (error) {
        throw faultOf(error, ending.signal.aborted)
      } finally {
        clearTimeout(timer)
      }
    }
    return { signal: ending.signal, during }
  }

  return async (path: string, request: ConnectionRequest) => {
    const { signal, during } = createWatch()
    const message = await during(pool.send(path, request, signal))
    return {
      message,
      status: message.statusCode ?? 0,
      pieces: () => piecesOf(message, during),
      leave: () => void message.destroy(),
    }
  }
}

const createSignedRequests = (
  { host, credentials }: Pick<Place, 'host' | 'credentials'>,
  send: ReturnType<typeof createSending>,
) => {
  const { name, password } = credentials ?? {}
  let cookie: string | undefined
  let signingIn: Promise<boolean> | undefined

  const signed = (): Record<string, string> => {
    if (cookie) return { cookie }
    return credentials
      ? { authorization: `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}` }
      : {}
  }

  const refused = () =>
    new SourceTrouble(
      credentials
        ? `${host} does not accept this user name and password`
        : `${host} requires a user name and a password: https://NAME:PASSWORD@${host}`,
    )

  /** For servers that reject Basic credentials; false if there is no session. */
  const signIn = async () => {
    if (!credentials) return false
    cookie = undefined
    const headers = { accept: 'application/json', 'content-type': 'application/json', ...signed() }
    const answer = await send('/_session', { method: 'POST', headers, body: JSON.stringify(credentials) })
    answer.leave()
    cookie = answer.status === 200 ? sessionCookie(answer.message) : undefined
    return cookie !== undefined
  }

  /** Returns responses with status 200 and 404; throws for others. */
  return async (path: string, accept = 'application/json') => {
    const attempt = () => send(path, { headers: { accept, ...signed() } })
    const used = cookie
    let answer = await attempt()
    if (answer.status === 401) {
      answer.leave()
      // A session ends after some minutes; concurrent requests share one new sign-in.
      if (cookie === used)
        signingIn ??= signIn().finally(() => {
          signingIn = undefined
        })
      if (signingIn && !(await signingIn)) throw refused()
      answer = await attempt()
    }
    const { status } = answer
    if (status === 200 || status === 404) return answer
    answer.leave()
    if (status === 401) throw refused()
    if (status === 403) throw new SourceTrouble(`${host}: these credentials may not read ${nameIn(path)}`)
    if (status >= 300 && status < 400)
      throw new SourceTrouble(`${host} redirects: use the address that it redirects to`)
    throw new Fault(`status ${status}`)
  }
}
