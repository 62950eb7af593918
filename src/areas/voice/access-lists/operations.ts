import type { AccountRecord } from '../../../auth/identity.ts'
import type { AccessList } from '../../../lib/access-list.ts'
import type { Author } from '../../../storage/change-set.ts'
import type { Accounts } from '../../accounts/accounts/operations.ts'
import type { DeviceRecord, Devices } from '../devices/operations.ts'
import { decideAccess } from './rules.ts'

interface Deps {
  accounts: Accounts
  devices: Devices
}

/** Whose list it is: that of an account, or of a device of it. */
export interface ListOwner {
  account: AccountRecord
  device?: DeviceRecord
}

export type AccessLists = ReturnType<typeof createAccessLists>

/** Which addresses and user agents an account, and each of its devices, lets in: a member of their records. */
export const createAccessLists = ({ accounts, devices }: Deps) => ({
  decide: decideAccess,

  /** Puts the list in the place of what was there before, or removes it. Answers with the record that has it. */
  replace(
    author: Author,
    { account, device }: ListOwner,
    list: AccessList | undefined,
  ): Promise<AccountRecord | DeviceRecord> {
    const member = { access_lists: list }
    return device
      ? devices.replace({ author, account }, device, { ...device.doc, ...member })
      : accounts.replace(author, account, { ...account.doc, ...member })
  },
})
