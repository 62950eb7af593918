import type { AccountRecord } from '../../../auth/identity.ts'
import { badIdentifier, failure } from '../../../lib/failure.ts'
import { gregorianOfUnix } from '../../../lib/gregorian.ts'
import { present } from '../../../lib/json.ts'
import type { Contact } from '../../../switch/kamailio/registrations.ts'
import type { Batches } from '../../../switch/media-switch.ts'
import type { DepsOf } from '../../area.ts'
import type { DeviceRecord, Devices } from '../devices/operations.ts'
import type { Registration } from './schema.ts'

const addressForm = /^(?:<?sips?:)?(?:[^@;?>]*@)?(\[[^\]]+\]|[^:;?>]+)(?::(\d{1,5}))?/i

/** Host and port of a SIP address. */
const placeIn = (address: string) => {
  const [, host, port] = addressForm.exec(address) ?? []
  return { host, port: host === undefined || port === undefined ? undefined : Number(port) }
}

const socketForm = /^(\w+):(.+):(\d+)$/

const rowOf = (account: AccountRecord, owner_id: string | undefined, known: Contact): Registration => {
  const contact = placeIn(known.contact)
  const source = placeIn(known.received ?? known.contact)
  const [, protocol, host, port] = socketForm.exec(known.socket ?? '') ?? []
  return {
    account_id: account.id,
    account_realm: account.doc.realm,
    authorizing_id: known.phone.deviceId,
    authorizing_type: 'device',
    ...present({ owner_id }),
    username: known.phone.username ?? '',
    realm: known.phone.realm,
    contact: known.contact,
    ...present({
      contact_ip: contact.host,
      contact_port: contact.port,
      source_ip: source.host,
      source_port: source.port,
      user_agent: known.userAgent,
    }),
    call_id: known.callId,
    expires: known.expiresSeconds,
    event_timestamp: gregorianOfUnix(known.registeredAt),
    registrar_hostname: known.at.host,
    ...present({
      proxy_ip: host,
      proxy_port: port === undefined ? undefined : Number(port),
      proxy_protocol: protocol,
    }),
  }
}

export type Registrations = ReturnType<typeof createRegistrations>

/**
 * Edges are asked only for the account's own devices, by user name and realm, so no data of other accounts is
 * read.
 */
export const createRegistrations = ({
  devices,
  mediaSwitch,
}: DepsOf<'mediaSwitch'> & { devices: Devices }) => {
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
    async list(account: AccountRecord) {
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
