import type { Socket } from 'node:net'
import { type Address, type Cidr, isInCidr, parseAddress } from '../../lib/cidr.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Log } from '../../lib/log.ts'
import { openSharedRows, type SharedMemory, type SharedRows } from '../../lib/shared-rows.ts'
import type { SettingsOf } from '../../settings/documents.ts'
import type { Settings } from '../../settings/settings.ts'
import { trustedProxies } from './client-address.ts'

interface Tools {
  settings: Settings
  clock: Clock
  log: Log
  /** Where several threads of the process have connections. */
  rows?: SharedRows | undefined
}

/** Counts under keys that never fall below zero. */
interface Counts {
  of(key: string): number
  add(key: string, by: 1 | -1): void
}

const countsInMemory = (): Counts => {
  const counts = new Map<string, number>()
  return {
    of: (key) => counts.get(key) ?? 0,
    add(key, by) {
      const count = (counts.get(key) ?? 0) + by
      if (count > 0) counts.set(key, count)
      else counts.delete(key)
    },
  }
}

/** How many numbers a count has in shared rows. */
export const countColumns = 1

/** The rows of counts: those of nobody may make room. */
export const openCounts = (memory: SharedMemory) =>
  openSharedRows(memory, countColumns, (read) => read(0) === 0)

/** Where there is no row left for a key, it is not counted. */
const countsInRows = (rows: SharedRows): Counts => ({
  of: (key) => rows.at(key, (row) => row.read(0)) ?? 0,
  add: (key, by) => rows.at(key, (row) => row.write(0, Math.max(0, row.read(0) + by))),
})

// No address is called so.
const everybody = 'all'

type Limits = Pick<SettingsOf<'crossbar'>, 'max_connections' | 'max_connections_per_address'>

/** Which limit a connection has passed. */
type Excess = keyof Limits

// Refusals come by the thousand: one line tells of them.
const complaintMilliseconds = 60_000

/** Who counts as one: an IPv4 address, or what one customer has of IPv6. */
const neighbourhoodOf = ({ family, bytes }: Address) =>
  family === 4 ? bytes.join('.') : bytes.slice(0, 8).join(':')

export type Places = ReturnType<typeof createPlaces>

/** Who may have a connection: so many in all, and so many from one address. Trusted proxies speak for many clients. */
export const createPlaces = ({ settings, clock, log, rows }: Tools) => {
  const counts = rows ? countsInRows(rows) : countsInMemory()
  let open = 0
  let limits: Limits = {
    max_connections: Number.POSITIVE_INFINITY,
    max_connections_per_address: Number.POSITIVE_INFINITY,
  }
  let proxies: readonly Cidr[] = []
  let complainedAt = Number.NEGATIVE_INFINITY

  const complain = (limit: Excess, address: string) => {
    const now = clock.now()
    if (now - complainedAt < complaintMilliseconds) return
    complainedAt = now
    log.write('warn', 'connections are refused', { limit, largest: limits[limit], client_address: address })
  }

  const placeOf = (text: string) => {
    const address = parseAddress(text.replace(/%.*$/, ''))
    return address && !proxies.some((proxy) => isInCidr(address, proxy))
      ? neighbourhoodOf(address)
      : undefined
  }

  const excessOf = (place: string | undefined): Excess | undefined => {
    if (counts.of(everybody) > limits.max_connections) return 'max_connections'
    const neighbours = place === undefined ? 0 : counts.of(place)
    return neighbours > limits.max_connections_per_address ? 'max_connections_per_address' : undefined
  }

  const count = (place: string | undefined, by: 1 | -1) => {
    open += by
    counts.add(everybody, by)
    if (place !== undefined) counts.add(place, by)
  }

  return {
    /** Gives a new connection its place until it ends, or closes it: nothing has been read that could be answered. */
    admit(socket: Socket) {
      const address = socket.remoteAddress ?? ''
      const place = placeOf(address)
      // Before the look, so that of two threads no two take the last place.
      count(place, 1)
      const excess = excessOf(place)
      if (excess) {
        count(place, -1)
        complain(excess, address)
        return void socket.destroy()
      }
      socket.once('close', () => count(place, -1))
    },

    /** How many connections this thread has. */
    open: () => open,

    /** Brings the limits to what the settings say now. */
    async follow() {
      const crossbar = await settings.of('crossbar')
      limits = crossbar
      proxies = trustedProxies(crossbar.reverse_proxies)
    },
  }
}
