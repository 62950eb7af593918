import { type AccountRecord, type Actor, isSuperduper, userKind } from '../../auth/identity.ts'
import { Failure, joinProblems, type Problems } from '../../lib/failure.ts'
import type { Json } from '../../lib/json.ts'
import { type Author, ChangeSet, systemScope } from '../../storage/change-set.ts'
import { readsOf } from '../../storage/collection.ts'
import type { Store } from '../../storage/store.ts'
import type { MediaSwitch, Notice, Phone } from '../../switch/media-switch.ts'
import type { MobileNumbers } from '../phone-numbers/operations.ts'
import {
  type DeviceDoc,
  deviceProblems,
  endsRegistration,
  isRegistrable,
  mobileNumberOf,
  storedHalf,
} from './rules.ts'
import { deviceChanged, deviceLeaving } from './signals.ts'
import {
  createDeviceStore,
  type DeviceRecord,
  identityClaim,
  realmTaken,
  uniqueNamesOf,
  usernameClaim,
  usernameTaken,
} from './store.ts'

interface Tools {
  store: Store
  mediaSwitch: MediaSwitch
  mobileNumbers: MobileNumbers
}

export type { DeviceDoc, DeviceRecord }

/** How a phone takes its settings anew. */
export type Restart = 'reboot' | 'reload'

/** A device that somebody wants to store. */
interface Proposal {
  account: AccountRecord
  actor: Actor
  data: Json
  own?: DeviceRecord
}

/** Whether a device is registered, where it can be. */
interface Registration {
  registrable: boolean
  registered?: boolean
}

interface DeviceStatus extends Registration {
  device_id: string
}

export type Devices = ReturnType<typeof createDevices>

export const createDevices = ({ store, mediaSwitch, mobileNumbers }: Tools) => {
  const devices = createDeviceStore(store)
  const { records } = store

  const phoneOf = ({ doc: { realm } }: AccountRecord, { accountId, id, doc }: DeviceRecord): Phone => ({
    accountId,
    deviceId: id,
    username: doc.sip?.username,
    realm: doc.sip?.realm ?? realm,
  })

  const uniqueProblems = async (
    account: AccountRecord,
    doc: Partial<DeviceDoc>,
    own: DeviceRecord | undefined,
  ): Promise<Problems> => {
    const found: Problems[] = []
    for (const { claim, problems } of uniqueNamesOf(account.id, doc)) {
      const holder = await records.claimant(claim)
      if (holder && holder.id !== own?.id) found.push(problems)
    }
    return joinProblems(...found)
  }

  /** A realm that belongs to another account. Whether that account knows the user name is not told. */
  const realmProblems = async (
    account: AccountRecord,
    { sip }: Partial<DeviceDoc>,
    own: DeviceRecord | undefined,
  ): Promise<Problems> => {
    if (sip?.realm === undefined || sip.realm === own?.doc.sip?.realm) return {}
    const claim = { scope: systemScope, name: 'realm', value: sip.realm.toLowerCase() }
    const holder = await records.claimant(claim)
    if (!holder || holder.id === account.id) return {}
    return { ...realmTaken(sip.realm), ...(sip.username ? usernameTaken(sip.username) : {}) }
  }

  /** An owner who left keeps what they had: only a new one has to be there. */
  const ownerProblems = async (
    account: AccountRecord,
    { owner_id: ownerId }: Partial<DeviceDoc>,
    own: DeviceRecord | undefined,
  ): Promise<Problems> => {
    if (ownerId === undefined || ownerId === own?.doc.owner_id) return {}
    if (await records.find(account.id, userKind, ownerId)) return {}
    return { owner_id: { not_found: { message: 'The account has no such user', cause: ownerId } } }
  }

  const mobileProblems = async (
    account: AccountRecord,
    { mobile }: Partial<DeviceDoc>,
    own: DeviceRecord | undefined,
  ): Promise<Problems> => (mobile?.mdn ? mobileNumbers.problems(account, mobile.mdn, own?.id) : {})

  /** The number of a mobile device follows what the device says. */
  const moveNumber = async (set: ChangeSet, before: DeviceRecord | undefined, after: DeviceRecord) => {
    const [had, has] = [before && mobileNumberOf(before.doc), mobileNumberOf(after.doc)]
    if (had === has) return
    if (before && had) await mobileNumbers.release(set, before, had)
    if (has) await mobileNumbers.claim(set, after, has)
  }

  const endRegistrations = (account: AccountRecord, ended: readonly DeviceRecord[]) =>
    mediaSwitch.endRegistrations(ended.map((device) => phoneOf(account, device)))

  const addRemoval = async (set: ChangeSet, device: DeviceRecord) => {
    devices.remove(set, device)
    const number = mobileNumberOf(device.doc)
    if (number) await mobileNumbers.release(set, device, number)
    set.tell(deviceLeaving, device)
  }

  const ownedBy = async (account: AccountRecord, ownerId: string) => {
    const owned: DeviceRecord[] = []
    for await (const batch of devices.all(account.id, ownerId)) owned.push(...batch)
    return owned
  }

  const sync = (account: AccountRecord, wanted: readonly DeviceRecord[], restart: Restart) =>
    mediaSwitch.sync(
      wanted.map((device) => phoneOf(account, device)),
      restart,
    )

  /** After a change that is stored already: phones that cannot be told fetch it when they come back. */
  const trySync = async (account: AccountRecord, wanted: readonly DeviceRecord[], restart: Restart) => {
    try {
      await sync(account, wanted, restart)
    } catch (error) {
      if (!(error instanceof Failure)) throw error
    }
  }

  const registrationOf = (
    id: string,
    deviceType: string | undefined,
    registered: ReadonlySet<string>,
  ): Registration => {
    const registrable = isRegistrable(deviceType)
    return registrable ? { registrable, registered: registered.has(id) } : { registrable }
  }

  return {
    ...readsOf(devices),
    phoneOf,
    ownedBy,
    sync,
    trySync,
    registrationOf,

    /** What the schema cannot know: rules between fields, names that others hold, owners that are none. */
    async judge({ account, actor, data, own }: Proposal): Promise<Problems> {
      const doc = storedHalf(data, account.doc.realm, own?.doc)
      return joinProblems(
        await uniqueProblems(account, doc, own),
        await realmProblems(account, doc, own),
        await ownerProblems(account, doc, own),
        await mobileProblems(account, doc, own),
        deviceProblems(doc, own?.doc, { mayRetype: isSuperduper(actor) }),
      )
    },

    async create(author: Author, account: AccountRecord, data: Json): Promise<DeviceRecord> {
      const doc = storedHalf(data, account.doc.realm, undefined)
      const device = devices.draft(account.id, { doc, hidden: {} })
      const set = new ChangeSet(author)
      devices.insert(set, device)
      await moveNumber(set, undefined, device)
      set.tell(deviceChanged, { before: undefined, after: device })
      await store.commit(set)
      return device
    },

    async replace(
      author: Author,
      account: AccountRecord,
      device: DeviceRecord,
      data: Json,
    ): Promise<DeviceRecord> {
      const doc = storedHalf(data, account.doc.realm, device.doc)
      const after = devices.revise(device, { doc })
      const set = new ChangeSet(author)
      devices.replace(set, device, after)
      await moveNumber(set, device, after)
      set.tell(deviceChanged, { before: device, after })
      await store.commit(set)
      if (endsRegistration(device.doc, after.doc)) await endRegistrations(account, [device])
      return after
    },

    async remove(author: Author, account: AccountRecord, device: DeviceRecord) {
      const set = new ChangeSet(author)
      await addRemoval(set, device)
      await store.commit(set)
      await endRegistrations(account, [device])
    },

    /** Adds the removal of all that a user owns to somebody's change set. */
    async removeOwned(set: ChangeSet, account: AccountRecord, ownerId: string) {
      const owned = await ownedBy(account, ownerId)
      for (const device of owned) await addRemoval(set, device)
      return { ids: owned.map(({ id }) => id), afterwards: () => endRegistrations(account, owned) }
    },

    registered: (accountId: string) => mediaSwitch.registered(accountId),

    async statuses(accountId: string): Promise<DeviceStatus[]> {
      const registered = await mediaSwitch.registered(accountId)
      const statuses: DeviceStatus[] = []
      for await (const batch of devices.all(accountId)) {
        for (const { id, doc } of batch)
          statuses.push({ device_id: id, ...registrationOf(id, doc.device_type, registered) })
      }
      return statuses
    },

    notify: (account: AccountRecord, device: DeviceRecord, notice: Notice) =>
      mediaSwitch.notify(phoneOf(account, device), notice),

    /** The account's device of this SIP user name, under the account's own realm. */
    async byUsername(accountId: string, username: string): Promise<DeviceRecord | undefined> {
      return devices.holder(usernameClaim(accountId, username))
    },

    /** The device of this name under a realm that is no account's. */
    byIdentity: (username: string, realm: string): Promise<DeviceRecord | undefined> =>
      devices.holder(identityClaim(username, realm)),
  }
}
