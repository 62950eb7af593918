import type { Socket } from 'node:net'
import { type Address, type Cidr, isInCidr, parseAddress } from '../../lib/cidr.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Log } from '../../lib/log.ts'
import { openSharedRows, type SharedMemory, type SharedRows } from '../../lib/shared-rows.ts'
import { crossbarSettings } from '../../settings/documents.ts'
import type { SettingsOf } from '../../settings/keys.ts'
import type { Settings } from '../../settings/settings.ts'
import { trustedProxies } from './client-address.ts'

/** How many there are under keys: of this thread, or of all that share them. */
export interface Counts {
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
export const openCountRows = (memory: SharedMemory) =>
  openSharedRows(memory, countColumns, (read) => read(0) === 0)

/** Where there is no row left for a key, it is not counted. */
const countsInRows = (rows: SharedRows): Counts => ({
  of: (key) => rows.at(key, (row) => row.read(0)) ?? 0,
  add: (key, by) => rows.at(key, (row) => row.write(0, Math.max(0, row.read(0) + by))),
})

export const createCounts = (rows: SharedRows | undefined): Counts =>
  rows ? countsInRows(rows) : countsInMemory()

interface Most {
  ofAll: number
  ofOne: number
}

type Leave = () => void

/**
 * Places of which there are so many in all, and so many for one of whatever is counted. `kind` tells them from other
 * places that are counted in the same rows.
 */
export const createSharedCounts = (kind: string, counts: Counts) => {
  const everybody = `${kind} all`

  const add = (keys: readonly string[], by: 1 | -1) => {
    for (const key of keys) counts.add(key, by)
  }

  return {
    /** A place, to be left again; or of what there are too many. Whoever is `undefined` counts among all alone. */
    take(one: string | undefined, most: Most): Leave | keyof Most {
      const keys = one === undefined ? [everybody] : [everybody, `${kind} of ${one}`]
      // Before the look, so that no two of two threads take the last place.
      add(keys, 1)
      const excess =
        counts.of(everybody) > most.ofAll
          ? 'ofAll'
          : keys[1] !== undefined && counts.of(keys[1]) > most.ofOne
            ? 'ofOne'
            : undefined
      if (excess) {
        add(keys, -1)
        return excess
      }
      let isTaken = true
      return () => {
        if (isTaken) add(keys, -1)
        isTaken = false
      }
    },
  }
}

interface Deps {
  settings: Settings
  clock: Clock
  log: Log
  /** Connections of this thread, or of all threads of the process. */
  counts: Counts
}

type Limits = Pick<SettingsOf<typeof crossbarSettings>, 'max_connections' | 'max_connections_per_address'>

/** Which limit a connection has passed. */
type Excess = keyof Limits

// Refusals come by the thousand: one line tells of them.
const complaintMilliseconds = 60_000

/** Who counts as one: an IPv4 address, or what one customer has of IPv6. */
const neighbourhoodOf = ({ family, bytes }: Address) =>
  family === 4 ? bytes.join('.') : bytes.slice(0, 8).join(':')

export type Places = ReturnType<typeof createPlaces>

/** Who may have a connection: so many in all, and so many from one address. Trusted proxies speak for many clients. */
export const createPlaces = ({ settings, clock, log, counts }: Deps) => {
  const seats = createSharedCounts('connections', counts)
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

  return {
    /** Gives a new connection its place until it ends, or closes it: nothing has been read that could be answered. */
    admit(socket: Socket) {
      const address = socket.remoteAddress ?? ''
      const left = seats.take(placeOf(address), {
        ofAll: limits.max_connections,
        ofOne: limits.max_connections_per_address,
      })
      if (typeof left === 'string') {
        complain(left === 'ofAll' ? 'max_connections' : 'max_connections_per_address', address)
        return void socket.destroy()
      }
      open += 1
      socket.once('close', () => {
        open -= 1
        left()
      })
    },

    /** How many connections this thread has. */
    open: () => open,

    /** Brings the limits to what the settings say now. */
    async follow() {
      const crossbar = await settings.of(crossbarSettings)
      limits = crossbar
      proxies = trustedProxies(crossbar.reverse_proxies)
    },
  }
}
