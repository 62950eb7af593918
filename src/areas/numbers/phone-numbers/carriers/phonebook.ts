import { isE164, normalizeNumber } from '../../../../lib/e164.ts'
import { failure } from '../../../../lib/failure.ts'
import { isObject, type Json } from '../../../../lib/json.ts'
import { type Outgoing, type OutgoingCall, OutgoingError } from '../../../../outgoing/client.ts'
import type { Settings } from '../../../../settings/settings.ts'
import { numberFault } from '../failures.ts'
import { numberInventorySettings, numberLocalitySettings, phoneNumberSettings } from '../settings.ts'
import type { Carrier, CarrierReply, CarrierRequest, CarrierSearch, Offer } from './carrier.ts'

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

interface PhonebookRequest {
  method: OutgoingCall['method']
  url: string
  data?: unknown
  key?: string
  signal?: AbortSignal
}

const timeoutMs = 10_000
const maxPhonebookBytes = 8_000_000

/** `base` may end with a slash. */
const under = (base: string, ...parts: string[]) =>
  [base.replace(/\/+$/, ''), ...parts.map(encodeURIComponent)].join('/')

/** The service knows numbers of +1 by their ten digits. */
const nationalOf = (number: string) => number.replace(/^\+1(?=\d{10}$)/, '')

type Client = ReturnType<typeof createClient>

/** Only HTTP status 200 with status `success` counts as success. */
const createClient = (outgoing: Outgoing) => {
  const responseTo = async ({ method, url, data, key, signal }: PhonebookRequest) => {
    try {
      return await outgoing.send({
        purpose: 'carrier',
        method,
        url,
        timeoutMs,
        maxBytes: maxPhonebookBytes,
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

  const bodyOf = async (request: PhonebookRequest) => {
    const response = await responseTo(request)
    const { status } = response
    try {
      return { status, body: response.json() }
    } catch (error) {
      const isAnswer = status !== 200 && isFinal(status)
      throw new PhonebookError({ 'unknown error': 'malformed' }, { status, isAnswer, reason: error })
    }
  }

  const ask = async (request: PhonebookRequest): Promise<unknown> => {
    const { status, body } = await bodyOf(request)
    if (status === 200 && isObject(body) && body.status === 'success') return body.data
    throw new PhonebookError(body, { status, isAnswer: isFinal(status) })
  }

  const askForObject = async (request: PhonebookRequest): Promise<Json> => {
    const data = await ask(request)
    if (isObject(data)) return data
    throw new PhonebookError(data, { status: 200, isAnswer: true })
  }

  return { bodyOf, ask, askForObject }
}

interface InventoryPlace {
  base: string
  country: string
  /** Ordered numbers are sent to these hosts. */
  gateways: readonly string[]
}

const inventoryAt = ({ ask, askForObject }: Client, { base, country, gateways }: InventoryPlace) => {
  const url = (path: string) => under(base, 'numbers', country, path)
  return {
    /** Numbers with the data to send back with an order. */
    search({ country: searched, prefix, quantity, offset, signal }: CarrierSearch) {
      const query = new URLSearchParams({ prefix, limit: String(quantity), offset: String(offset) })
      const address = `${under(base, 'numbers', searched, 'search')}?${query}`
      return askForObject({ method: 'GET', url: address, signal })
    },

    /** Status by number. */
    async check(numbers: readonly string[]) {
      const asked = new Map(numbers.map((number) => [nationalOf(number), number]))
      const data = await ask({ method: 'POST', url: url('status'), data: [...asked.keys()] })
      const found = new Map<string, string>()
      for (const entry of Array.isArray(data) ? data : []) {
        if (!isObject(entry) || typeof entry.status !== 'string') continue
        const number = asked.get(nationalOf(String(entry.number)))
        if (number !== undefined) found.set(number, entry.status)
      }
      return found
    },

    /** Returns the data to store for the number, if any. */
    async order({ number, key, signal }: CarrierRequest): Promise<Json | undefined> {
      const data = { numbers: [number], gateways }
      const found = await askForObject({ method: 'PUT', url: url('order'), data, key, signal })
      const entry = found[number] ?? found[nationalOf(number)]
      if (!isObject(entry) || entry.status !== 'success')
        throw new PhonebookError(found, { status: 200, isAnswer: true })
      return isObject(entry.opaque) ? entry.opaque : undefined
    },

    release: ({ number, key, signal }: CarrierRequest) =>
      ask({ method: 'POST', url: url('release'), data: { numbers: [number] }, key, signal }),
  }
}

/** A number inventory over HTTP. */
export const createPhonebook = (outgoing: Outgoing, settings: Settings) => {
  const client = createClient(outgoing)

  return {
    /** The inventory service; undefined: none is configured. */
    async inventory() {
      const place = await settings.of(numberInventorySettings)
      const { phonebook_url: base, default_country: country, endpoints = [] } = place
      return base === undefined
        ? undefined
        : inventoryAt(client, { base, country, gateways: [endpoints].flat() })
    },

    /** Places of numbers; undefined: no service is configured. */
    async locality(numbers: readonly string[]) {
      const { url: own } = await settings.of(numberLocalitySettings)
      const url = own ?? (await settings.of(numberInventorySettings)).phonebook_url
      if (url === undefined) return undefined
      return client.askForObject({ method: 'POST', url: under(url, 'locality', 'metadata'), data: numbers })
    },

    /** Cities with prefixes; undefined: no service is configured. Any `data` with HTTP status 200 counts, as old services answer. */
    async cities(country: string, pattern: string): Promise<unknown> {
      const base = (await settings.of(phoneNumberSettings)).phonebook_url
      if (base === undefined) return undefined
      const url = `${under(base, country, 'city')}?${new URLSearchParams({ pattern })}`
      const { status, body } = await client.bodyOf({ method: 'GET', url })
      if (status !== 200 || !isObject(body) || body.data === undefined)
        throw new PhonebookError(body, { status, isAnswer: isFinal(status) })
      return body.data
    },
  }
}

export type Phonebook = ReturnType<typeof createPhonebook>

const module = 'knm_other'

/** Drops numbers outside the requested prefix. */
const offersOf = (found: Json, prefix: string): Offer[] =>
  Object.entries(found).flatMap(([text, data]) => {
    const number = normalizeNumber(text)
    if (!isE164(number) || !number.startsWith(prefix)) return []
    return [{ number, state: 'discovery', carrier: module, carrierData: isObject(data) ? data : {} }]
  })

// If the address is removed from the settings, open orders wait for a new one.
const notConfigured: CarrierReply = {
  outcome: 'unknown',
  reason: 'no inventory service is configured',
  isDown: true,
}

// Services that cannot take numbers back answer so. The request is not repeated.
const knowsNoReleases = new Set([404, 405, 501])

/** Only a response proves that nothing was done. */
const carrierReplyOf = (error: unknown): CarrierReply => {
  if (!(error instanceof PhonebookError)) throw error
  const { isAnswer, isDown, message } = error
  return isAnswer ? { outcome: 'refused', reason: message } : { outcome: 'unknown', reason: message, isDown }
}

/** An external inventory service. */
export const otherCarrier = (phonebook: Phonebook): Carrier => ({
  module,

  async search(search) {
    const found = (await (await phonebook.inventory())?.search(search)) ?? {}
    return offersOf(found, search.prefix).slice(0, search.quantity)
  },

  supplier: {
    async assertReachable() {
      if (!(await phonebook.inventory())) throw failure(numberFault, { message: 'missing_provider_url' })
    },

    async order(request) {
      const inventory = await phonebook.inventory()
      if (!inventory) return notConfigured
      const accepted = async () => (await inventory.order(request)) ?? request.carrierData
      return accepted().then((carrierData) => ({ outcome: 'accepted', carrierData }), carrierReplyOf)
    },

    async release(request) {
      const inventory = await phonebook.inventory()
      if (!inventory) return notConfigured
      try {
        await inventory.release(request)
      } catch (error) {
        const isUnheard = error instanceof PhonebookError && knowsNoReleases.has(error.status ?? 0)
        if (!isUnheard) return carrierReplyOf(error)
      }
      return { outcome: 'accepted', carrierData: request.carrierData }
    },
  },

  check: async (numbers) => (await phonebook.inventory())?.check(numbers) ?? new Map(),
})
