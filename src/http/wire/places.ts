import type { Socket } from 'node:net'
import { type Address, type Cidr, isInCidr, parseAddress } from '../../lib/cidr.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Log } from '../../lib/log.ts'
import type { SettingsOf } from '../../settings/documents.ts'
import type { Settings } from '../../settings/settings.ts'
import { trustedProxies } from './client-address.ts'

interface Tools {
  settings: Settings
  clock: Clock
  log: Log
}

type Limits = Pick<SettingsOf<'crossbar'>, 'max_connections' | 'max_connections_per_address'>

/** Which limit a connection would pass. */
type Excess = keyof Limits

// Refusals come by the thousand: one line tells of them.
const complaintMilliseconds = 60_000

/** Who counts as one: an IPv4 address, or what one customer has of IPv6. */
const neighbourhoodOf = ({ family, bytes }: Address) =>
  family === 4 ? bytes.join('.') : bytes.slice(0, 8).join(':')

export type Places = ReturnType<typeof createPlaces>

/** Who may have a connection: so many in all, and so many from one address. Trusted proxies speak for many clients. */
export const createPlaces = ({ settings, clock, log }: Tools) => {
  const byNeighbourhood = new Map<string, number>()
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
    if (open >= limits.max_connections) return 'max_connections'
    const neighbours = place === undefined ? 0 : (byNeighbourhood.get(place) ?? 0)
    return neighbours >= limits.max_connections_per_address ? 'max_connections_per_address' : undefined
  }

  const leave = (place: string | undefined) => {
    open -= 1
    if (place === undefined) return
    const neighbours = (byNeighbourhood.get(place) ?? 1) - 1
    if (neighbours === 0) byNeighbourhood.delete(place)
    else byNeighbourhood.set(place, neighbours)
  }

  const enter = (place: string | undefined) => {
    open += 1
    if (place !== undefined) byNeighbourhood.set(place, (byNeighbourhood.get(place) ?? 0) + 1)
  }

  return {
    /** Gives a new connection its place until it ends, or closes it: nothing has been read that could be answered. */
    admit(socket: Socket) {
      const address = socket.remoteAddress ?? ''
      const place = placeOf(address)
      const excess = excessOf(place)
      if (excess) {
        complain(excess, address)
        return void socket.destroy()
      }
      enter(place)
      socket.once('close', () => leave(place))
    },

    /** How many connections there are. */
    open: () => open,

    /** Brings the limits to what the settings say now. */
    async follow() {
      const crossbar = await settings.of('crossbar')
      limits = crossbar
      proxies = trustedProxies(crossbar.reverse_proxies)
    },
  }
}
