import type { Socket } from 'node:net'
import { type Address, type Cidr, isInCidr, parseAddress } from '../../lib/cidr.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Log } from '../../lib/log.ts'
import { openSharedRows, type SharedMemory, type SharedRows } from '../../lib/shared-rows.ts'
import { crossbarSettings } from '../../settings/documents.ts'
import type { SettingsOf } from '../../settings/keys.ts'
import type { Settings } from '../../settings/settings.ts'
import { trustedProxies } from './client-address.ts'

/** Counts by key, of this thread or of all threads. */
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

export const countColumns = 1

/** Rows with a count of 0 may be evicted. */
export const openCountRows = (memory: SharedMemory) =>
  openSharedRows(memory, countColumns, (read) => read(0) === 0)

/** Without a free row a key is not counted. */
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

/** Limits for all and for each key. `kind` separates counts in the same rows. */
export const createSharedCounts = (kind: string, counts: Counts) => {
  const everybody = `${kind} all`

  const add = (keys: readonly string[], by: 1 | -1) => {
    for (const key of keys) counts.add(key, by)
  }

  return {
    /** Returns a function that releases the slot, or the limit that is exceeded. `undefined` counts in the total only. */
    take(one: string | undefined, most: Most): Leave | keyof Most {
      const keys = one === undefined ? [everybody] : [everybody, `${kind} of ${one}`]
      // Counted before the check, so that two threads cannot take the last slot.
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
  /** Connections of this thread, or of all threads. */
  counts: Counts
}

type Limits = Pick<SettingsOf<typeof crossbarSettings>, 'max_connections' | 'max_connections_per_address'>

type Excess = keyof Limits

// One line a minute for all rejections.
const complaintMilliseconds = 60_000

/** An IPv4 address or an IPv6 /64. */
const neighbourhoodOf = ({ family, bytes }: Address) =>
  family === 4 ? bytes.join('.') : bytes.slice(0, 8).join(':')

export type Places = ReturnType<typeof createPlaces>

/** Limits connections in total and by address. Trusted proxies have no limit by address. */
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
    /** Counts a new connection until it ends, or closes it. */
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

    open: () => open,

    /** Reads the limits from the settings. */
    async follow() {
      const crossbar = await settings.of(crossbarSettings)
      limits = crossbar
      proxies = trustedProxies(crossbar.reverse_proxies)
    },
  }
}
