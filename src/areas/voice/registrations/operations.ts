import type { AccountRecord } from '../../../auth/identity.ts'
import { badIdentifier, failure } from '../../../lib/failure.ts'
import { gregorianOfUnix } from '../../../lib/gregorian.ts'
import type { Batches, Registration as Known, MediaSwitch } from '../../../switch/media-switch.ts'
import type { DeviceRecord, Devices } from '../devices/operations.ts'
import type { Registration } from './schema.ts'

interface Place {
  host: string
  port: number | undefined
}

const addressForm = /^(?:<?sips?:)?(?:[^@;?>]*@)?(\[[^\]]+\]|[^:;?>]+)(?::(\d{1,5}))?/i

const placeIn = (address: string | undefined): Place | undefined => {
  const [, host, port] = addressForm.exec(address ?? '') ?? []
  return host === undefined ? undefined : { host, port: port === undefined ? undefined : Number(port) }
}

const socketForm = /^(\w+):(.+):(\d+)$/

const proxyOf = (socket: string | undefined) => {
  const [, protocol, host, port] = socketForm.exec(socket ?? '') ?? []
  return host === undefined
    ? {}
    : { proxy_ip: host, proxy_port: Number(port), proxy_protocol: protocol ?? '' }
}

const contactPlace = (place: Place | undefined) => ({
  ...(place && { contact_ip: place.host }),
  ...(place?.port !== undefined && { contact_port: place.port }),
})

const sourcePlace = (place: Place | undefined) => ({
  ...(place && { source_ip: place.host }),
  ...(place?.port !== undefined && { source_port: place.port }),
})

const rowOf = (account: AccountRecord, ownerId: string | undefined, known: Known): Registration => ({
  account_id: account.id,
  account_realm: account.doc.realm,
  authorizing_id: known.phone.deviceId,
  authorizing_type: 'device',
  ...(ownerId === undefined ? {} : { owner_id: ownerId }),
  username: known.phone.username ?? '',
  realm: known.phone.realm,
  contact: known.contact,
  ...contactPlace(placeIn(known.contact)),
  ...sourcePlace(placeIn(known.received ?? known.contact)),
  ...(known.userAgent === undefined ? {} : { user_agent: known.userAgent }),
  call_id: known.callId,
  expires: known.expiresSeconds,
  event_timestamp: gregorianOfUnix(known.registeredAt),
  registrar_hostname: known.edge,
  ...proxyOf(known.socket),
})

interface Deps {
  devices: Devices
  mediaSwitch: MediaSwitch
}

interface Listed {
  batches: AsyncIterable<Registration[]>
  /** Hosts of edges that did not answer so far. */
  unreachable: ReadonlySet<string>
}

export type Registrations = ReturnType<typeof createRegistrations>

/**
 * Edges are asked only for the account's own devices, by user name and realm, so no data of other accounts is
 * read.
 */
export const createRegistrations = ({ devices, mediaSwitch }: Deps) => {
  const rowsOf = async (account: AccountRecord, batch: readonly DeviceRecord[]) => {
    const known = new Map(batch.map((device) => [device.id, device]))
    const phones = batch.map((device) => devices.phoneOf(account, device))
    const { found, unreachable } = await mediaSwitch.registrations(phones)
    const rows = found.flatMap((registration) => {
      const device = known.get(registration.phone.deviceId)
      return device ? [rowOf(account, device.doc.owner_id, registration)] : []
    })
    return { rows, unreachable }
  }

  async function* phonesOf(account: AccountRecord, batches: Batches<DeviceRecord>) {
    for await (const batch of batches) yield batch.map((device) => devices.phoneOf(account, device))
  }

  /** Fails if no edge answers, also if the account has no devices. */
  const assertThere = () => mediaSwitch.registrations([])

  return {
    async list(account: AccountRecord): Promise<Listed> {
      await assertThere()
      const unreachable = new Set<string>()
      async function* batches() {
        for await (const batch of devices.all(account.id)) {
          const { rows, unreachable: hosts } = await rowsOf(account, batch)
          for (const host of hosts) unreachable.add(host)
          if (rows.length > 0) yield rows
        }
      }
      return { batches: batches(), unreachable }
    },

    async count(account: AccountRecord) {
      const { batches, unreachable } = await this.list(account)
      let count = 0
      for await (const rows of batches) count += rows.length
      return { count, unreachable: [...unreachable] }
    },

    async endAll(account: AccountRecord): Promise<readonly string[]> {
      await assertThere()
      return mediaSwitch.endRegistrations(phonesOf(account, devices.all(account.id)))
    },

    async endOf(account: AccountRecord, username: string): Promise<readonly string[]> {
      const device = await devices.byUsername(account.id, username)
      if (!device) throw failure(badIdentifier, { cause: username })
      await assertThere()
      return mediaSwitch.endRegistrations(phonesOf(account, [[device]]))
    },
  }
}
