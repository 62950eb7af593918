import type { AccountRecord } from '../../../auth/identity.ts'
import { badIdentifier, failure } from '../../../lib/failure.ts'
import type { Batches, MediaSwitch } from '../../../switch/media-switch.ts'
import type { DeviceRecord, Devices } from '../devices/operations.ts'
import { rowOf } from './rules.ts'
import type { Registration } from './schema.ts'

interface Deps {
  devices: Devices
  mediaSwitch: MediaSwitch
}

interface Listed {
  batches: AsyncIterable<Registration[]>
  /** Hosts of edges that did not answer, as far as it has been read. */
  unreachable: ReadonlySet<string>
}

export type Registrations = ReturnType<typeof createRegistrations>

/**
 * Who is registered, as the edges of the network know it. Edges are asked for the account's own devices, by user name and
 * realm, and for nothing else: what others have is never at hand.
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

  /** Fails where nobody can be asked, also when the account has no devices. */
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

    /** Has every device of the account register anew. */
    async endAll(account: AccountRecord): Promise<readonly string[]> {
      await assertThere()
      return mediaSwitch.endRegistrations(phonesOf(account, devices.all(account.id)))
    },

    /** Has one device register anew. */
    async endOf(account: AccountRecord, username: string): Promise<readonly string[]> {
      const device = await devices.byUsername(account.id, username)
      if (!device) throw failure(badIdentifier, { cause: username })
      await assertThere()
      return mediaSwitch.endRegistrations(phonesOf(account, [[device]]))
    },
  }
}
