import { isE164, normalizeNumber } from '../../../../lib/e164.ts'
import { failure } from '../../../../lib/failure.ts'
import { isObject, type Json } from '../../../../lib/json.ts'
import { type Outgoing, type OutgoingCall, OutgoingError } from '../../../../outgoing/client.ts'
import type { Settings } from '../../../../settings/settings.ts'
import { numberFault } from '../failures.ts'
import { numberInventorySettings, numberLocalitySettings, phoneNumberSettings } from '../settings.ts'
import {
  type Carrier,
  isBillable,
  maximalPrefixLengthOf,
  type Offer,
  type Reply,
  type Request,
} from './carrier.ts'

interface Facts {
  status?: number
  /** The service answered that it did not do it. False: it may have done it. */
  isAnswer: boolean
  isDown?: boolean
  reason?: unknown
}

/** `answer`: body of the response, for clients that may read it. */
export class PhonebookError extends Error {
  readonly answer: unknown
  readonly status: number | undefined
  readonly isAnswer: boolean
  readonly isDown: boolean

  constructor(answer: unknown, { status, isAnswer, isDown = false, reason }: Facts) {
    const said = status === undefined ? 'did not answer' : `answered with HTTP ${status}`
    super(`the inventory service ${said}`, reason === undefined ? undefined : { cause: reason })
    this.name = 'PhonebookError'
    this.answer = answer
    this.status = status
    this.isAnswer = isAnswer
    this.isDown = isDown
  }
}

// The service may have begun, or wants a repeat.
const openStatuses = new Set([408, 425, 429])
const isFinal = (status: number) => status < 500 && !openStatuses.has(status)

interface PhonebookSearch {
  country: string
  prefix: string
  quantity: number
  offset: number
  signal: AbortSignal
}

interface PhonebookWish {
  number: string
  /** Idempotency key. */
  key: string
  signal: AbortSignal
}

interface Question {
  method: OutgoingCall['method']
  url: string
  data?: unknown
  key?: string
  signal?: AbortSignal
}

const timeoutMs = 10_000
const maxBytes = 8_000_000

/** `base` may end with a slash. */
const under = (base: string, ...parts: string[]) =>
  [base.replace(/\/+$/, ''), ...parts.map(encodeURIComponent)].join('/')

/** The service knows numbers of +1 by their ten digits. */
const nationalOf = (number: string) => number.replace(/^\+1(?=\d{10}$)/, '')

/** A number inventory over HTTP. Only HTTP status 200 with status `success` counts as success. */
export const createPhonebook = (outgoing: Outgoing, settings: Settings) => {
  const answerTo = async ({ method, url, data, key, signal }: Question) => {
    try {
      return await outgoing.send({
        purpose: 'carrier',
        method,
        url,
        timeoutMs,
        maxBytes,
        isOperators: true,
        ...(data === undefined ? {} : { json: { data } }),
        ...(key === undefined ? {} : { headers: { 'idempotency-key': key } }),
        ...(signal ? { signal } : {}),
      })
    } catch (error) {
      if (!(error instanceof OutgoingError)) throw error
      const isDown = error.fault === 'unreachable' || error.fault === 'timeout'
      throw new PhonebookError({ 'unknown error': error.fault }, { isAnswer: false, isDown, reason: error })
    }
  }

  const bodyOf = async (question: Question) => {
    const answer = await answerTo(question)
    try {
      return { status: answer.status, body: answer.json() }
    } catch (error) {
      const { status } = answer
      const isAnswer = status !== 200 && isFinal(status)
      throw new PhonebookError({ 'unknown error': 'malformed' }, { status, isAnswer, reason: error })
    }
  }

  const ask = async (question: Question): Promise<unknown> => {
    const { status, body } = await bodyOf(question)
    if (status === 200 && isObject(body) && body.status === 'success') return body.data
    throw new PhonebookError(body, { status, isAnswer: isFinal(status) })
  }

  const askForObject = async (question: Question): Promise<Json> => {
    const data = await ask(question)
    if (isObject(data)) return data
    throw new PhonebookError(data, { status: 200, isAnswer: true })
  }

  return {
    async url() {
      return (await settings.of(numberInventorySettings)).phonebook_url
    },

    async localityUrl() {
      return (await settings.of(numberLocalitySettings)).url ?? (await this.url())
    },

    async cityUrl() {
      return (await settings.of(phoneNumberSettings)).phonebook_url
    },

    /** Numbers with the data to send back with an order. */
    search: (url: string, { country, prefix, quantity, offset, signal }: PhonebookSearch): Promise<Json> => {
      const query = new URLSearchParams({ prefix, limit: String(quantity), offset: String(offset) })
      return askForObject({
        method: 'GET',
        url: `${under(url, 'numbers', country, 'search')}?${query}`,
        signal,
      })
    },

    /** Status by number. */
    async check(url: string, country: string, numbers: readonly string[]) {
      const asked = new Map(numbers.map((number) => [nationalOf(number), number]))
      const data = await ask({
        method: 'POST',
        url: under(url, 'numbers', country, 'status'),
        data: [...asked.keys()],
      })
      const found = new Map<string, string>()
      for (const entry of Array.isArray(data) ? data : []) {
        if (!isObject(entry) || typeof entry.status !== 'string') continue
        const number = asked.get(nationalOf(String(entry.number)))
        if (number !== undefined) found.set(number, entry.status)
      }
      return found
    },

    /** The service delivers calls to `gateways`. Returns the data to store for the number, if any. */
    async order(
      url: string,
      country: string,
      { number, gateways, key, signal }: PhonebookWish & { gateways: readonly string[] },
    ): Promise<Json | undefined> {
      const data = await askForObject({
        method: 'PUT',
        url: under(url, 'numbers', country, 'order'),
        data: { numbers: [number], gateways },
        key,
        signal,
      })
      const entry = data[number] ?? data[nationalOf(number)]
      if (!isObject(entry) || entry.status !== 'success')
        throw new PhonebookError(data, { status: 200, isAnswer: true })
      return isObject(entry.opaque) ? entry.opaque : undefined
    },

    async release(url: string, country: string, { number, key, signal }: PhonebookWish): Promise<void> {
      await ask({
        method: 'POST',
        url: under(url, 'numbers', country, 'release'),
        data: { numbers: [number] },
        key,
        signal,
      })
    },

    locality: (url: string, numbers: readonly string[]) =>
      askForObject({ method: 'POST', url: under(url, 'locality', 'metadata'), data: numbers }),

    /** Cities with prefixes. Any `data` with HTTP status 200 counts, as old services answer. */
    async cities(url: string, country: string, pattern: string): Promise<unknown> {
      const query = new URLSearchParams({ pattern })
      const { status, body } = await bodyOf({ method: 'GET', url: `${under(url, country, 'city')}?${query}` })
      if (status !== 200 || !isObject(body) || body.data === undefined)
        throw new PhonebookError(body, { status, isAnswer: isFinal(status) })
      return body.data
    },
  }
}

export type Phonebook = ReturnType<typeof createPhonebook>

const module = 'knm_other'

const gatewaysOf = (endpoints: string | string[] | undefined) =>
  endpoints === undefined ? [] : [endpoints].flat()

/** Drops numbers outside the requested prefix. */
const offersOf = (found: Json, prefix: string): Offer[] =>
  Object.entries(found).flatMap(([text, data]) => {
    const number = normalizeNumber(text)
    if (!isE164(number) || !number.startsWith(prefix)) return []
    return [{ number, state: 'discovery', carrier: module, carrierData: isObject(data) ? data : {} }]
  })

// If the address is removed from the settings, open orders wait for a new one.
const notConfigured: Reply = {
  outcome: 'unknown',
  reason: 'no inventory service is configured',
  isDown: true,
}

// Services that cannot take numbers back answer so. The request is not repeated.
const knowsNoReleases = new Set([404, 405, 501])

/** Only a response tells that something was not done. */
const replyOf = (error: unknown): Reply => {
  if (!(error instanceof PhonebookError)) throw error
  const { isAnswer, isDown, message } = error
  return isAnswer ? { outcome: 'refused', reason: message } : { outcome: 'unknown', reason: message, isDown }
}

/** An external inventory service. */
export const otherCarrier = (phonebook: Phonebook, settings: Settings): Carrier => {
  const place = async () => {
    const { default_country: country, endpoints } = await settings.of(numberInventorySettings)
    return { url: await phonebook.url(), country, gateways: gatewaysOf(endpoints) }
  }

  const order = async ({ number, carrierData, key, signal }: Request): Promise<Reply> => {
    const { url, country, gateways } = await place()
    if (url === undefined) return notConfigured
    try {
      const told = await phonebook.order(url, country, { number, gateways, key, signal })
      return { outcome: 'accepted', carrierData: told ?? carrierData }
    } catch (error) {
      return replyOf(error)
    }
  }

  const release = async ({ number, carrierData, key, signal }: Request): Promise<Reply> => {
    const { url, country } = await place()
    if (url === undefined) return notConfigured
    try {
      await phonebook.release(url, country, { number, key, signal })
    } catch (error) {
      const isUnheard = error instanceof PhonebookError && knowsNoReleases.has(error.status ?? 0)
      if (!isUnheard) return replyOf(error)
    }
    return { outcome: 'accepted', carrierData }
  }

  return {
    module,
    maximalPrefixLength: maximalPrefixLengthOf(module),
    isBillable: isBillable(module),

    async search(search) {
      const { url } = await place()
      if (url === undefined) return []
      return offersOf(await phonebook.search(url, search), search.prefix).slice(0, search.quantity)
    },

    supplier: {
      async assertReachable() {
        const { url } = await place()
        if (url === undefined) throw failure(numberFault, { message: 'missing_provider_url' })
      },
      order,
      release,
    },

    async check(numbers) {
      const { url, country } = await place()
      return url === undefined ? new Map() : phonebook.check(url, country, numbers)
    },
  }
}
