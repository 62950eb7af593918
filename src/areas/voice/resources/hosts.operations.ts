import { setTimeout as sleep } from 'node:timers/promises'
import type { Dns } from '../../../dns/dns.ts'
import { DnsFault } from '../../../dns/exchange.ts'
import type { LookUp, LookUpResult } from '../../../dns/resolver.ts'
import type { Clock } from '../../../lib/clock.ts'
import { evictOldest } from '../../../lib/forget-oldest.ts'
import type { CarrierHost } from './hosts.rules.ts'

interface Deps {
  clock: Clock
  dns: Pick<Dns, 'find'>
}

/** The address of a host, and the port of its SRV record. */
export interface HostPlace {
  address: string
  port?: number
}

interface CachedPlaces {
  /** Targets of SRV records come first, by priority. */
  places: readonly HostPlace[]
  /** Every DNS question was answered. */
  isSure: boolean
  /** Unix milliseconds. */
  until: number
  /** The places before, if DNS has not answered since. */
  earlier?: readonly HostPlace[] | undefined
}

// Bounds for the time that DNS answers are cached, whatever their TTL.
const [shortestMs, longestMs] = [30_000, 3_600_000]
// How long a failed look-up is cached.
const failedMs = 5000
// A caller waits for the decision: later answers serve the next call.
const dnsTimeoutMs = 500
const maxHosts = 10_000
const maxServices = 8

const cacheMsOf = (all: readonly LookUpResult[]) => {
  const ttls = all.flatMap(({ ttlSeconds }) => (ttlSeconds === undefined ? [] : [ttlSeconds * 1000]))
  return Math.min(longestMs, Math.max(shortestMs, ttls.length === 0 ? 0 : Math.min(...ttls)))
}

/** `priority weight port target`, as in SRV records. */
const serviceIn = (text: string) => {
  const [priority, weight, port, target] = text.split(' ')
  return target ? [{ priority: Number(priority), weight: Number(weight), port: Number(port), target }] : []
}

const keyOf = ({ host, service }: CarrierHost) => `${host} ${service ?? ''}`

const placesIn = (found: LookUpResult | undefined, port?: number): HostPlace[] =>
  (found?.records ?? []).map((address) => ({ address, ...(port === undefined ? {} : { port }) }))

const addressesIn = (places: readonly HostPlace[]) => places.map(({ address }) => address)

/** Looks up hosts that are called over SIP. */
const sipLookUps = ({ dns, clock }: Deps) => {
  /** Undefined: no answer. The resolver has its own time limit. */
  const find = async (question: LookUp): Promise<LookUpResult | undefined> => {
    try {
      return await dns.find(question, { tcp: false, signal: new AbortController().signal })
    } catch (error) {
      if (error instanceof DnsFault) return undefined
      throw error
    }
  }

  const addressesOf = (name: string) => Promise.all([find({ name, type: 'A' }), find({ name, type: 'AAAA' })])

  /** RFC 3263: without a port, SRV records may name further hosts. */
  const behindService = async (service: string | undefined) => {
    if (service === undefined) return { answers: [], places: [] }
    const services = await find({ name: service, type: 'SRV' })
    const found = (services?.records ?? []).flatMap(serviceIn).slice(0, maxServices)
    if (found.length === 0) return { answers: services ? [] : [undefined], places: [] }
    const sorted = found.toSorted((a, b) => a.priority - b.priority || b.weight - a.weight)
    const all = await Promise.all(
      sorted.map(async ({ port, target }) => ({ port, answers: await addressesOf(target) })),
    )
    return {
      answers: [services, ...all.flatMap(({ answers }) => answers)],
      places: all.flatMap(({ port, answers }) => answers.flatMap((one) => placesIn(one, port))),
    }
  }

  return async ({ host, service }: CarrierHost): Promise<CachedPlaces> => {
    const [own, behind] = await Promise.all([addressesOf(host), behindService(service)])
    const answers = [...own, ...behind.answers]
    const all = answers.filter((found) => found !== undefined)
    const isSure = all.length === answers.length
    return {
      places: [...behind.places, ...own.flatMap((found) => placesIn(found))],
      isSure,
      until: clock.now() + (isSure ? cacheMsOf(all) : failedMs),
    }
  }
}

export type CarrierHosts = ReturnType<typeof createCarrierHosts>

/** The addresses of carriers' host names, cached by their TTL, and longer while DNS does not answer. */
export const createCarrierHosts = (deps: Deps) => {
  const { clock } = deps
  const lookUp = sipLookUps(deps)
  const known = new Map<string, CachedPlaces>()
  const looking = new Map<string, Promise<void>>()
  let failed: { cause: unknown } | undefined

  const current = (host: CarrierHost) => {
    const held = known.get(keyOf(host))
    return held && held.until > clock.now() ? held : undefined
  }

  /** The places of a host, or the last known ones. */
  const lastPlaces = (host: CarrierHost) => {
    const held = known.get(keyOf(host))
    return held?.earlier ?? held?.places ?? []
  }

  /** Concurrent requests share one look-up. */
  const learn = (host: CarrierHost) => {
    const key = keyOf(host)
    const under = looking.get(key)
    if (under) return under
    const started = lookUp(host)
      .then((found) => {
        const isNothing = !found.isSure && found.places.length === 0
        const earlier = isNothing ? lastPlaces(host) : undefined
        known.delete(key)
        known.set(key, { ...found, earlier })
        evictOldest(known, maxHosts)
      })
      .finally(() => looking.delete(key))
    looking.set(key, started)
    return started
  }

  /** Waits for unknown hosts, up to `dnsTimeoutMs`. */
  const learnAll = async (hosts: readonly CarrierHost[]) => {
    const unknown = hosts.filter((host) => !current(host))
    if (unknown.length === 0) return
    const patience = sleep(dnsTimeoutMs, undefined, { ref: false })
    await Promise.race([patience, Promise.all(unknown.map(learn))])
  }

  /** Starts look-ups without waiting. The next call throws the error of a look-up that failed unexpectedly. */
  const learnLater = (hosts: readonly CarrierHost[]) => {
    const error = failed
    failed = undefined
    if (error) throw error.cause
    for (const host of hosts)
      if (!current(host))
        learn(host).catch((cause: unknown) => {
          failed = { cause }
        })
  }

  return {
    /** Empty if unknown within the time limit. */
    async placesOf(host: CarrierHost): Promise<readonly HostPlace[]> {
      await learnAll([host])
      return lastPlaces(host)
    },

    /** The addresses that are known within the time limit. */
    async of(hosts: readonly CarrierHost[]) {
      await learnAll(hosts)
      const addresses = new Map<CarrierHost, readonly string[]>()
      let isWhole = true
      for (const host of hosts) {
        const held = current(host)
        isWhole &&= held?.isSure === true
        if (held) addresses.set(host, addressesIn(held.places))
      }
      return { addresses, isWhole }
    },

    /** The addresses that are known now. Others are looked up for the next call. */
    knownOf(hosts: readonly CarrierHost[]): readonly string[] {
      learnLater(hosts)
      return hosts.flatMap((host) => addressesIn(lastPlaces(host)))
    },
  }
}
