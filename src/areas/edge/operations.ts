import { type AccountRecord, type Actor, isAbove, isSuperduper, userKind } from '../../auth/identity.ts'
import { disabledOf } from '../../auth/standing.ts'
import { failure } from '../../lib/failure.ts'
import type { Records } from '../../storage/records.ts'
import type { AccessLists } from '../access-lists/operations.ts'
import type { Accounts } from '../accounts/operations.ts'
import type { DeviceRecord, Devices } from '../devices/operations.ts'
import type { RateLimits } from '../rate-limits/operations.ts'
import type { EdgeQuestion } from './rules.ts'
import type { EdgeAnswer } from './schema.ts'

interface Tools {
  records: Records
  accounts: Accounts
  devices: Devices
  accessLists: AccessLists
  rateLimits: RateLimits
}

/** Whom a packet claims to come from. */
interface Sender {
  account: AccountRecord
  device: DeviceRecord | undefined
}

const mayAsk = (actor: Actor, account: AccountRecord) => isSuperduper(actor) || isAbove(actor, account)

const isInRealm = ({ doc }: DeviceRecord, realm: string) =>
  (doc.sip?.realm ?? realm).toLowerCase() === realm.toLowerCase()

export type Edge = ReturnType<typeof createEdge>

/** What an edge proxy has to know of a packet. Asked for every packet that it has not cached: all reads are cached. */
export const createEdge = ({ records, accounts, devices, accessLists, rateLimits }: Tools) => {
  const inRealmOf = async (
    account: AccountRecord,
    { realm, username }: EdgeQuestion,
  ): Promise<DeviceRecord | undefined> => {
    const device = username === undefined ? undefined : await devices.byUsername(account.id, username)
    return device && isInRealm(device, realm) ? device : undefined
  }

  /** The owner of a realm comes before devices that only name it. */
  const senderOf = async (question: EdgeQuestion): Promise<Sender | undefined> => {
    const { realm, username } = question
    const owner = await accounts.byRealm(realm)
    if (owner) return { account: owner, device: await inRealmOf(owner, question) }
    const device = username === undefined ? undefined : await devices.byIdentity(username, realm)
    const account = device && (await accounts.find(device.accountId))
    return account && { account, device }
  }

  const stranger = ({ address }: EdgeQuestion): EdgeAnswer => ({
    access_lists: { realm: { order: 'allow,deny', cidrs: [] } },
    rate_limits: rateLimits.ofUnknownRealm,
    ...(address ? { allowed: false, reason: 'unknown_realm' } : {}),
  })

  const isOwnerDisabled = async ({ accountId, doc }: DeviceRecord) =>
    doc.owner_id !== undefined &&
    (await records.find(accountId, userKind, doc.owner_id))?.doc.enabled === false

  /** What is switched off, the widest first: nothing passes, whatever the lists say. */
  const disabled = async ({ account, device }: Sender) => {
    if (await disabledOf(records, account)) return 'account_disabled'
    if (device && (await isOwnerDisabled(device))) return 'user_disabled'
    return device?.doc.enabled === false ? 'device_disabled' : undefined
  }

  return {
    /**
     * A realm that the actor is not above is answered like one that nobody has; but for the own one, where the actor
     * would take that answer for the truth.
     */
    async decide(actor: Actor, question: EdgeQuestion): Promise<EdgeAnswer> {
      const { address, userAgent } = question
      const sender = await senderOf(question)
      if (!sender) return stranger(question)
      if (!mayAsk(actor, sender.account)) {
        if (sender.account.id !== actor.accountId) return stranger(question)
        throw failure('forbidden', { cause: 'only accounts above a realm may ask about it' })
      }
      const { account, device } = sender
      const realmList = account.doc.access_lists
      const deviceList = device?.doc.access_lists
      const reason = await disabled(sender)
      return {
        account_id: account.id,
        ...(device ? { device_id: device.id } : {}),
        access_lists: {
          ...(realmList ? { realm: realmList } : {}),
          ...(deviceList ? { device: deviceList } : {}),
        },
        rate_limits: await rateLimits.inForce(account, device),
        ...(address ? accessLists.decide({ realmList, deviceList, address, userAgent }) : {}),
        ...(reason ? { allowed: false, reason } : {}),
      }
    },
  }
}
