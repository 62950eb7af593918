// Requests to a CouchDB, with credentials, time-outs and retries. Errors name server and database, never a
// credential.
import { setTimeout as sleep } from 'node:timers/promises'
import { isObject, type Json } from '../../src/lib/json.ts'
import {
  type ConnectionRequest,
  createConnectionPool,
  type PooledResponse,
} from '../../src/outgoing/kept-connections.ts'
import { bytesIn, parsed } from './documents.ts'
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

export type Connection = ReturnType<typeof createConnection>

export const createConnection = ({ base, host, credentials }: Place, patience: Patience) => {
  const basic = credentials
    ? `Basic ${Buffer.from(`${credentials.name}:${credentials.password}`).toString('base64')}`
    : undefined
  const asking = createConnectionPool(base)
  let cookie: string | undefined
  let signingIn: Promise<boolean> | undefined

  const signed = (): Record<string, string> => {
    if (cookie) return { cookie }
    return basic ? { authorization: basic } : {}
  }

  /** Aborts a request after `silenceMs` without data. */
  const createWatch = () => {
    const ending = new AbortController()
    let timer: NodeJS.Timeout | undefined
    return {
      signal: ending.signal,
      /** Counts the silence. */
      async during<Value>(work: Promise<Value>): Promise<Value> {
        timer = setTimeout(() => ending.abort(), patience.silenceMs)
        try {
          return await work
        } finally {
          clearTimeout(timer)
        }
      },
    }
  }
  type Watch = ReturnType<typeof createWatch>

  const faultOf = (error: unknown, watch: Watch) => {
    if (watch.signal.aborted) return new Fault(`silent for ${patience.silenceMs / 1000} s`)
    const code = codeOf(error)
    if (isOfCertificate(code)) return new SourceTrouble(`${host}: its certificate is not accepted (${code})`)
    return new Fault(code)
  }

  async function* piecesOf(message: PooledResponse, watch: Watch): AsyncGenerator<Uint8Array> {
    const pieces = message[Symbol.asyncIterator]()
    try {
      for (;;) {
        const { done, value } = await watch.during(pieces.next()).catch((error: unknown) => {
          throw faultOf(error, watch)
        })
        if (done) return
        yield value
      }
    } finally {
      message.destroy()
    }
  }

  const send = async (path: string, { headers, ...asked }: ConnectionRequest = {}) => {
    const watch = createWatch()
    const all = { accept: 'application/json', ...headers, ...signed() }
    try {
      const message = await watch.during(asking.send(path, { ...asked, headers: all }, watch.signal))
      return { message, pieces: () => piecesOf(message, watch) }
    } catch (error) {
      throw faultOf(error, watch)
    }
  }

  const leave = ({ message }: Awaited<ReturnType<typeof send>>) => void message.destroy()

  const refused = () =>
    new SourceTrouble(
      credentials
        ? `${host} does not accept this user name and password`
        : `${host} wants a user name and a password: https://NAME:PASSWORD@${host}`,
    )

  /** For servers that reject Basic credentials; false if there is no session. */
  const signIn = async () => {
    if (!credentials) return false
    cookie = undefined
    const answer = await send('/_session', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(credentials),
    })
    leave(answer)
    cookie = answer.message.statusCode === 200 ? sessionCookie(answer.message) : undefined
    return cookie !== undefined
  }

  /** Returns responses with status 200 and 404; throws for others. */
  const ask = async (path: string, asked: ConnectionRequest = {}) => {
    const used = cookie
    let answer = await send(path, asked)
    if (answer.message.statusCode === 401) {
      leave(answer)
      // A session ends after some minutes; concurrent requests share one new sign-in.
      if (cookie === used)
        signingIn ??= signIn().finally(() => {
          signingIn = undefined
        })
      if (signingIn && !(await signingIn)) throw refused()
      answer = await send(path, asked)
    }
    const { statusCode: status = 0 } = answer.message
    if (status === 200 || status === 404) return { isThere: status === 200, ...answer }
    leave(answer)
    if (status === 401) throw refused()
    if (status === 403) throw new SourceTrouble(`${host}: these credentials may not read ${nameIn(path)}`)
    if (status >= 300 && status < 400)
      throw new SourceTrouble(`${host} sends elsewhere: name the address that it leads to`)
    throw new Fault(`status ${status}`)
  }

  /** Retries faults. */
  const again = async <Found>(what: string, work: () => Promise<Found>): Promise<Found> => {
    for (let faults = 0; ; ) {
      try {
        return await work()
      } catch (error) {
        if (!(error instanceof Fault)) throw error
        faults += 1
        if (isLastTry(faults)) throw new SourceTrouble(`${host}: ${what} could not be read: ${error.message}`)
        await patience.pause(pauseAfter(faults))
      }
    }
  }

  return {
    host,
    patience,
    ask,
    again,
    leave,
    close: asking.close,
    text: (path: string, what: string): Promise<{ text: string } | { missing: string }> =>
      again(what, async () => {
        const answer = await ask(path)
        const bytes = await bytesIn(answer.pieces(), maxAnswerBytes)
        if (bytes === 'too large') return { missing: `it has more than ${maxAnswerBytes / 1024 / 1024} MB` }
        const text = bytes.toString('utf8')
        return answer.isThere ? { text } : { missing: reasonIn(text) }
      }),
  }
}

const nameIn = (path: string) => {
  const [name = ''] = path.slice(1).split(/[/?]/)
  return name === '' ? 'it' : decodeURIComponent(name)
}

export const objectIn = (text: string): Json | undefined => {
  const value = parsed(text)
  return isObject(value) ? value : undefined
}

/** `deleted` or `missing`. */
const reasonIn = (text: string) => {
  const reason = objectIn(text)?.reason
  return typeof reason === 'string' ? reason : 'missing'
}
