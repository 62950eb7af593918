import { type AccountRecord, type Actor, isSuperduper, userKind } from '../../auth/identity.ts'
import { Failure, failure, joinProblems, type Problems } from '../../lib/failure.ts'
import type { Json } from '../../lib/json.ts'
import { type Author, ChangeSet } from '../../storage/change-set.ts'
import { readsOf } from '../../storage/collection.ts'
import type { Store } from '../../storage/store.ts'
import type { MediaSwitch, Notice, Phone } from '../../switch/media-switch.ts'
import type { HostNames } from '../accounts/host-names/operations.ts'
import { claimantOf } from '../accounts/host-names/rules.ts'
import { type Adoption, adoptingInto } from '../adoption.ts'
import type { MobileNumbers } from '../phone-numbers/operations.ts'
import type { Destinations } from '../resources/destinations/operations.ts'
import {
  type DeviceDoc,
  destinationsOf,
  deviceProblems,
  isRegistrable,
  mobileNumberOf,
  type Restart,
  restrictionProblems,
  storedHalf,
  syncEventOf,
} from './rules.ts'
import { Device } from './schema.ts'
import { deviceChanged, deviceLeaving } from './signals.ts'
import {
  addressClaim,
  createDeviceStore,
  type DeviceRecord,
  identityClaim,
  mostReaching,
  uniqueNamesOf,
  usernameClaim,
  usernameTaken,
} from './store.ts'

interface Tools {
  store: Store
  mediaSwitch: MediaSwitch
  hostNames: HostNames
  mobileNumbers: MobileNumbers
  destinations: Pick<Destinations, 'problems'>
}

export type { DeviceDoc, DeviceRecord, Restart }

/** A device that somebody wants to store. */
interface Proposal {
  account: AccountRecord
  actor: Actor
  data: Json
  own?: DeviceRecord
}

/** Whether a device is registered, where it can be, and where that is known. */
interface Registration {
  registrable: boolean
  registered?: boolean
}

/** Which devices are registered, as far as edges answer. */
export interface Presence {
  ids: ReadonlySet<string>
  /** Hosts of edges that did not answer: what is not among `ids` may be registered there. */
  unreachable: readonly string[]
}

interface Statuses {
  statuses: DeviceStatus[]
  unreachable: readonly string[]
}

interface DeviceStatus extends Registration {
  device_id: string
}

/** What names whoever sends SIP, so that nobody else is called the same. */
const sipClaims = { username: usernameClaim, identity: identityClaim, address: addressClaim }

export type SipClaims = typeof sipClaims

export type Devices = ReturnType<typeof createDevices>

export const createDevices = (tools: Tools) => {
  const { store, mediaSwitch, hostNames, mobileNumbers, destinations } = tools
  const devices = createDeviceStore(store)
  const { records } = store

  /** How devices of another system are taken in. The numbers of mobile ones arrive with the numbers. */
  const adoption: Adoption = {
    schema: Device,
    ...adoptingInto<DeviceDoc, object>(devices, ({ doc }) => ({ doc: doc as DeviceDoc, hidden: {} })),
  }

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

  /** A realm that the account may not have. Whether its owner knows the user name is not told. */
  const realmProblems = async (
    account: AccountRecord,
    { sip }: Partial<DeviceDoc>,
    own: DeviceRecord | undefined,
  ): Promise<Problems> => {
    if (sip?.realm === undefined || sip.realm === own?.doc.sip?.realm) return {}
    const found = await hostNames.realmProblems(claimantOf(account), 'sip.realm', sip.realm)
    const isRefused = Object.keys(found).length > 0
    return isRefused && sip.username ? { ...found, ...usernameTaken(sip.username) } : found
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
    { account, actor, own }: Proposal,
    doc: Partial<DeviceDoc>,
  ): Promise<Problems> => {
    const { mobile } = doc
    if (!mobile?.mdn || (own && mobileNumberOf(doc) === mobileNumberOf(own.doc))) return {}
    return mobileNumbers.problems(actor, account, mobile.mdn, own?.id)
  }

  /** The number of a mobile device follows what the device says. */
  const moveNumber = async (set: ChangeSet, before: DeviceRecord | undefined, after: DeviceRecord) => {
    const [had, has] = [before && mobileNumberOf(before.doc), mobileNumberOf(after.doc)]
    if (had === has) return
    if (before && had) await mobileNumbers.release(set, before, had)
    if (has) await mobileNumbers.claim(set, after, has)
  }

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

  /** Fails where nothing could be sent: a phone that is not registered hears nothing. */
  const notify = async (account: AccountRecord, device: DeviceRecord, notice: Notice) => {
    if ((await mediaSwitch.notify(phoneOf(account, device), notice)) === 0)
      throw failure('phone_unregistered', {})
  }

  const sync = async (account: AccountRecord, wanted: readonly DeviceRecord[], restart: Restart) => {
    for (const device of wanted) await notify(account, device, { event: syncEventOf(device.doc, restart) })
  }

  /** After a change that is stored already: phones that cannot be told fetch it when they come back. */
  const trySync = async (account: AccountRecord, wanted: readonly DeviceRecord[], restart: Restart) => {
    for (const device of wanted) {
      try {
        await sync(account, [device], restart)
      } catch (error) {
        if (!(error instanceof Failure)) throw error
        // Nobody else could be told either.
        if (!error.is('phone_unregistered')) return
      }
    }
  }

  const presenceOf = async (account: AccountRecord, wanted: readonly DeviceRecord[]): Promise<Presence> => {
    const phones = wanted
      .filter(({ doc }) => isRegistrable(doc.device_type))
      .map((device) => phoneOf(account, device))
    if (phones.length === 0) return { ids: new Set(), unreachable: [] }
    try {
      const { found, unreachable } = await mediaSwitch.registrations(phones)
      return { ids: new Set(found.map(({ phone }) => phone.deviceId)), unreachable }
    } catch (error) {
      if (!(error instanceof Failure && error.is('media_switch_unreachable'))) throw error
      return { ids: new Set(), unreachable: error.details.edges.map(({ host }) => host) }
    }
  }

  const registrationOf = (
    id: string,
    deviceType: string | undefined,
    { ids, unreachable }: Presence,
  ): Registration => {
    const registrable = isRegistrable(deviceType)
    if (!registrable) return { registrable }
    if (ids.has(id)) return { registrable, registered: true }
    return unreachable.length > 0 ? { registrable } : { registrable, registered: false }
  }

  return {
    ...readsOf(devices),
    claims: sipClaims,
    phoneOf,
    ownedBy,
    sync,
    trySync,
    notify,
    presenceOf,
    registrationOf,

    /** Every device of an account, or of one user, in batches. */
    all: (accountId: string, ownerId?: string) => devices.all(accountId, ownerId),

    /** What the schema cannot know: rules between fields, names that others hold, owners that are none. */
    async judge(proposal: Proposal): Promise<Problems> {
      const { account, actor, data, own } = proposal
      const doc = storedHalf(data, account.doc.realm, own?.doc)
      return joinProblems(
        await uniqueProblems(account, doc, own),
        await realmProblems(account, doc, own),
        await ownerProblems(account, doc, own),
        await mobileProblems(proposal, doc),
        await destinations.problems(account, destinationsOf(doc), own ? destinationsOf(own.doc) : []),
        deviceProblems(doc, own?.doc, { mayRetype: isSuperduper(actor) }),
        own ? restrictionProblems(actor, doc, own.doc) : {},
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
      return after
    },

    async remove(author: Author, device: DeviceRecord) {
      const set = new ChangeSet(author)
      await addRemoval(set, device)
      await store.commit(set)
    },

    /** Adds the removal of all that a user owns to somebody's change set. */
    async removeOwned(set: ChangeSet, account: AccountRecord, ownerId: string) {
      const owned = await ownedBy(account, ownerId)
      for (const device of owned) await addRemoval(set, device)
      return owned.map(({ id }) => id)
    },

    /** The ids of the devices that ring for a user: where they have signed in, and theirs where nobody else has. */
    async reaching(accountId: string, userId: string): Promise<string[]> {
      const [own, signedIn] = await Promise.all([
        devices.page({ accountId, ownerId: userId, limit: mostReaching, descending: false }),
        devices.signedIn(accountId, userId),
      ])
      const free = own.filter(({ doc }) => Object.keys(doc.hotdesk?.users ?? {}).length === 0)
      return [...new Set([...free.map(({ id }) => id), ...signedIn])]
    },

    adoption,

    underRealm: devices.underRealm,
    usernamesUnder: devices.usernamesUnder,

    async statuses(account: AccountRecord): Promise<Statuses> {
      const statuses: DeviceStatus[] = []
      const silent = new Set<string>()
      for await (const batch of devices.all(account.id)) {
        const presence = await presenceOf(account, batch)
        for (const host of presence.unreachable) silent.add(host)
        for (const { id, doc } of batch)
          statuses.push({ device_id: id, ...registrationOf(id, doc.device_type, presence) })
      }
      return { statuses, unreachable: [...silent] }
    },

    /** The account's device of this SIP user name, under the account's own realm. */
    async byUsername(accountId: string, username: string): Promise<DeviceRecord | undefined> {
      return devices.holder(usernameClaim(accountId, username))
    },

    /** The device of this name under a realm that is no account's. */
    byIdentity: (username: string, realm: string): Promise<DeviceRecord | undefined> =>
      devices.holder(identityClaim(username, realm)),

    /** The device that is known by this address. */
    byAddress: (address: string): Promise<DeviceRecord | undefined> => devices.holder(addressClaim(address)),
  }
}
