import { setTimeout as sleep } from 'node:timers/promises'
import type { Dns } from '../../../dns/dns.ts'
import { DnsFault } from '../../../dns/exchange.ts'
import type { Found, LookUp } from '../../../dns/resolver.ts'
import type { Clock } from '../../../lib/clock.ts'
import { forgetOldest } from '../../../lib/forget-oldest.ts'
import type { CarrierHost } from './rules.ts'

interface Tools {
  clock: Clock
  dns: Pick<Dns, 'find'>
}

/** Where a host is, as far as somebody has said so. */
interface Known {
  addresses: readonly string[]
  /** Every question of it was answered. */
  isSure: boolean
  /** Unix milliseconds. */
  until: number
}

/** What is known of hosts within the time that a question has. */
export interface HostAddresses {
  addresses: ReadonlyMap<CarrierHost, readonly string[]>
  /** Everything about them was answered. */
  isWhole: boolean
}

// However short or long a zone says: names are asked again at most this often, and followed at least this often.
const [shortestMs, longestMs] = [30_000, 3_600_000]
// A name about which somebody did not answer is asked again soon, but not by every call.
const failedMs = 5000
// Whoever calls waits for a decision: what comes later serves the next call.
const patienceMs = 500
const mostHosts = 2000
const mostServices = 8

// What says nothing says nothing of time, either.
const heldMs = (all: readonly Found[]) => {
  const ttls = all.flatMap(({ ttlSeconds }) => (ttlSeconds === undefined ? [] : [ttlSeconds * 1000]))
  return Math.min(longestMs, Math.max(shortestMs, ttls.length === 0 ? 0 : Math.min(...ttls)))
}

const keyOf = ({ host, service }: CarrierHost) => `${host} ${service ?? ''}`

export type CarrierHosts = ReturnType<typeof createCarrierHosts>

/** The addresses behind the host names of carriers, kept for as long as the DNS says. A failed look-up leads nowhere. */
export const createCarrierHosts = ({ clock, dns }: Tools) => {
  const known = new Map<string, Known>()
  const looking = new Map<string, Promise<void>>()

  /** Undefined: nobody has answered. The resolver gives up by itself. */
  const find = async (question: LookUp): Promise<Found | undefined> => {
    try {
      return await dns.find(question, { tcp: false, signal: new AbortController().signal })
    } catch (error) {
      if (error instanceof DnsFault) return undefined
      throw error
    }
  }

  const addressesOf = (name: string) => Promise.all([find({ name, type: 'A' }), find({ name, type: 'AAAA' })])

  /** RFC 3263: where no port is said, records of the service may name further hosts. */
  const behindService = async (service: string | undefined) => {
    if (service === undefined) return []
    const services = await find({ name: service, type: 'SRV' })
    if (!services) return [undefined]
    const targets = services.records.slice(0, mostServices).flatMap((text) => text.split(' ')[3] ?? [])
    const all = await Promise.all(targets.map(addressesOf))
    return targets.length > 0 ? [{ ...services, records: [] }, ...all.flat()] : []
  }

  const lookUp = async ({ host, service }: CarrierHost): Promise<Known> => {
    const answers = (await Promise.all([addressesOf(host), behindService(service)])).flat()
    const all = answers.filter((found) => found !== undefined)
    const isSure = all.length === answers.length
    return {
      addresses: all.flatMap(({ records }) => records),
      isSure,
      until: clock.now() + (isSure ? heldMs(all) : failedMs),
    }
  }

  const current = (key: string) => {
    const held = known.get(key)
    return held && held.until > clock.now() ? held : undefined
  }

  /** One look-up for all who ask meanwhile. */
  const learn = (host: CarrierHost) => {
    const key = keyOf(host)
    const under = looking.get(key)
    if (under) return under
    const started = lookUp(host)
      .then((held) => {
        known.delete(key)
        known.set(key, held)
        forgetOldest(known, mostHosts)
      })
      .finally(() => looking.delete(key))
    looking.set(key, started)
    return started
  }

  return {
    /** Where these hosts are, as far as that is known within the time that an answer may take. */
    async of(hosts: readonly CarrierHost[]): Promise<HostAddresses> {
      const unknown = hosts.filter((host) => !current(keyOf(host)))
      if (unknown.length > 0) {
        const patience = sleep(patienceMs, undefined, { ref: false })
        await Promise.race([patience, Promise.all(unknown.map(learn))])
      }
      const addresses = new Map<CarrierHost, readonly string[]>()
      let isWhole = true
      for (const host of hosts) {
        const held = current(keyOf(host))
        isWhole &&= held?.isSure === true
        if (held) addresses.set(host, held.addresses)
      }
      return { addresses, isWhole }
    },
  }
}
