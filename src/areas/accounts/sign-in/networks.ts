import type { AccountRecord, UserRecord } from '../../../auth/identity.ts'
import { networkOf } from '../../../lib/network.ts'
import { createAttachment } from '../../../storage/attachment.ts'
import { ChangeSet } from '../../../storage/change-set.ts'
import { holderOf } from '../../../storage/records.ts'
import { retrying } from '../../../storage/store.ts'
import type { DepsOf } from '../../area.ts'
import type { SignInClient } from '../login-attempts/operations.ts'

interface Networks {
  /** The newest is the last. */
  networks: readonly string[]
}

// Older networks are reported again.
const maxKept = 100

export const createKnownNetworks = ({ store, afterwards }: DepsOf<'store' | 'afterwards'>) => {
  const known = createAttachment<Networks>(store, 'sign_in_networks')
  const { records } = store

  const keep = async (visit: SignInClient, account: AccountRecord, { kind, id }: UserRecord) => {
    const { author, clientAddress } = visit
    // Another process may have stored it.
    await store.fence()
    const user = await records.find(account.id, kind, id)
    if (!user) return
    const before = await known.find(user)
    const network = networkOf(clientAddress)
    const networks = before?.doc.networks ?? []
    if (networks.includes(network)) return
    const set = new ChangeSet({ ...author, authAccountId: account.id, authUserId: id })
    known.put(set, holderOf(user), before, { networks: [...networks, network].slice(-maxKept) })
    const after = JSON.stringify({ client_address: clientAddress, network, is_first: networks.length === 0 })
    set.happened({ accountId: account.id, type: 'sign_in.new_address', kind: 'user', id, after })
    await store.commit(set)
  }

  return {
    removeWith: known.removeWith,

    /** Stores the network of a sign-in after the response, and emits an event if it is new. */
    note(visit: SignInClient, account: AccountRecord, user: UserRecord) {
      afterwards.run('recording the sign-in network of a user', () =>
        retrying(() => keep(visit, account, user)),
      )
    },
  }
}

export type KnownNetworks = ReturnType<typeof createKnownNetworks>
