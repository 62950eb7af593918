import { type AccountRecord, type Actor, speaksForAccount } from '../../../auth/identity.ts'
import { failure, forbidden, invalidCredentials } from '../../../lib/failure.ts'
import { memberOf } from '../../../lib/member.ts'
import { crossbarSettings } from '../../../settings/documents.ts'
import type { DepsOf } from '../../area.ts'
import type { DeviceRecord, Devices } from '../devices/operations.ts'
import type { CallWishes } from './rules.ts'

interface Callable {
  doc: object
  ownerId: string | undefined
}

export type Quickcalls = ReturnType<typeof createQuickcalls>

type Deps = DepsOf<'settings' | 'mediaSwitch'> & { devices: Devices }

export const createQuickcalls = ({ settings, devices, mediaSwitch }: Deps) => {
  const invitesAnyone = async ({ doc }: Callable) => {
    const { default_allow_anonymous_quickcalls: usual } = await settings.of(crossbarSettings)
    return (memberOf(doc, 'allow_anonymous_quickcalls') ?? usual) === true
  }

  return {
    /**
     * Ordinary users call from their own devices, whose restrictions and caller ID apply. A client without a
     * token gets the same response for all devices that do not invite it, whether or not they exist.
     */
    async assertMayCall(
      visitor: Actor | undefined,
      account: AccountRecord | undefined,
      called: Callable | undefined,
    ) {
      if (visitor && (!called || speaksForAccount(visitor) || visitor.user?.id === called.ownerId)) return
      if (account?.hidden.enabled && called && (await invitesAnyone(called))) return
      if (visitor)
        throw failure(forbidden, { cause: 'Only an admin may call from the device of another user' })
      throw failure(invalidCredentials, {})
    },

    start(account: AccountRecord, rung: readonly DeviceRecord[], wishes: CallWishes) {
      const phones = rung
        .filter(({ doc }) => doc.enabled !== false)
        .map((device) => devices.phoneOf(account, device))
      return mediaSwitch.startQuickcall({ ...wishes, phones })
    },
  }
}
