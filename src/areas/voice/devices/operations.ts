import { type AccountRecord, type Actor, isSuperduper } from '../../../auth/identity.ts'
import {
  Failure,
  failure,
  failureKind,
  hasProblems,
  isFailure,
  joinProblems,
  mediaSwitchUnreachable,
  type Problems,
} from '../../../lib/failure.ts'
import type { Notice, Phone } from '../../../switch/media-switch.ts'
import type { HostNames } from '../../accounts/accounts/host-names/operations.ts'
import { claimantOf } from '../../accounts/accounts/host-names/rules.ts'
import type { AreaDeps } from '../../area.ts'
import type { MobileNumbers } from '../../numbers/phone-numbers/operations.ts'
import { ownerProblems, records, uniqueProblems } from '../../records.ts'
import type { Destinations } from '../resources/destinations.operations.ts'
import {
  type DeviceDoc,
  destinationsOf,
  deviceProblems,
  isRegistrable,
  mobileNumberOf,
  type Restart,
  restrictionProblems,
  storedDevice,
  syncEventOf,
} from './rules.ts'
import { deviceShape } from './schema.ts'
import { deviceChanged, deviceDeleted } from './signals.ts'
import {
  addressClaim,
  createDeviceStore,
  type DeviceRecord,
  identityClaim,
  maxReaching,
  uniqueNamesOf,
  usernameClaim,
  usernameTaken,
} from './store.ts'

export const phoneUnregistered = failureKind('phone_unregistered', () => ({
  status: 409,
  message: 'phone_unregistered',
  data: { message: 'the device is not registered: nothing was sent' },
}))

interface Deps extends Pick<AreaDeps, 'store' | 'mediaSwitch'> {
  hostNames: HostNames
  mobileNumbers: MobileNumbers
  destinations: Pick<Destinations, 'problems'>
}

export type { DeviceDoc, DeviceRecord, Restart }

const sipClaims = { username: usernameClaim, identity: identityClaim, address: addressClaim }

export type SipClaims = typeof sipClaims

type DeviceStore = ReturnType<typeof createDeviceStore>

/** Devices as phones that the edges know. */
const devicePhones = (mediaSwitch: Deps['mediaSwitch'], devices: DeviceStore) => {
  const phoneOf = ({ doc: { realm } }: AccountRecord, { accountId, id, doc }: DeviceRecord): Phone => ({
    accountId,
    deviceId: id,
    username: doc.sip?.username,
    realm: doc.sip?.realm ?? realm,
  })

  /** Fails if the phone is not registered. */
  const notify = async (account: AccountRecord, device: DeviceRecord, notice: Notice) => {
    if ((await mediaSwitch.notify(phoneOf(account, device), notice)) === 0)
      throw failure(phoneUnregistered, {})
  }

  const sync = async (account: AccountRecord, wanted: readonly DeviceRecord[], restart: Restart) => {
    for (const device of wanted) await notify(account, device, { event: syncEventOf(device.doc, restart) })
  }

  /** `unreachable`: hosts of edges that did not answer. */
  const registeredAmong = async (phones: readonly Phone[]) => {
    if (phones.length === 0) return { found: [], unreachable: [] }
    try {
      return await mediaSwitch.registrations(phones)
    } catch (error) {
      if (!isFailure(error, mediaSwitchUnreachable)) throw error
      return { found: [], unreachable: error.details.edges.map(({ host }) => host) }
    }
  }

  const presenceOf = async (account: AccountRecord, wanted: readonly DeviceRecord[]) => {
    const registrable = wanted.filter(({ doc }) => isRegistrable(doc.device_type))
    const { found, unreachable } = await registeredAmong(
      registrable.map((device) => phoneOf(account, device)),
    )
    const ids = new Set(found.map(({ phone }) => phone.deviceId))
    return {
      unreachable,
      /** Without `registered` it is unknown, or the device cannot register. */
      of({ id, doc }: DeviceRecord): { registrable: boolean; registered?: boolean } {
        const isUnknown = unreachable.length > 0 && !ids.has(id)
        if (!isRegistrable(doc.device_type)) return { registrable: false }
        return isUnknown ? { registrable: true } : { registrable: true, registered: ids.has(id) }
      },
    }
  }

  return {
    phoneOf,
    sync,
    notify,
    presenceOf,

    /**
     * Called after the change was committed. A phone that does not get the notification fetches its settings when it registers
     * again.
     */
    async trySync(account: AccountRecord, wanted: readonly DeviceRecord[], restart: Restart) {
      for (const device of wanted) {
        try {
          await sync(account, [device], restart)
        } catch (error) {
          if (!(error instanceof Failure)) throw error
          // The switch does not answer, so the other phones would not get it either.
          if (!isFailure(error, phoneUnregistered)) return
        }
      }
    },

    async statuses(account: AccountRecord) {
      const statuses: { device_id: string; registrable: boolean; registered?: boolean }[] = []
      const unreachable = new Set<string>()
      for await (const batch of devices.batches({ accountId: account.id })) {
        const presence = await presenceOf(account, batch)
        for (const host of presence.unreachable) unreachable.add(host)
        for (const device of batch) statuses.push({ device_id: device.id, ...presence.of(device) })
      }
      return { statuses, unreachable: [...unreachable] }
    },
  }
}

const deviceRecords = ({ store, hostNames, mobileNumbers, destinations }: Deps, devices: DeviceStore) => {
  /** A realm of another account. The problem does not tell whether that account has the user name. */
  const realmProblems = async (
    account: AccountRecord,
    { sip }: Partial<DeviceDoc>,
    own: DeviceRecord | undefined,
  ): Promise<Problems> => {
    if (sip?.realm === undefined || sip.realm === own?.doc.sip?.realm) return {}
    const found = await hostNames.realmProblems(claimantOf(account), 'sip.realm', sip.realm)
    return hasProblems(found) && sip.username ? { ...found, ...usernameTaken(sip.username) } : found
  }

  const mobileProblems = async (
    { account, actor, before }: { account: AccountRecord; actor: Actor; before: DeviceRecord | undefined },
    doc: Partial<DeviceDoc>,
  ): Promise<Problems> => {
    const { mobile } = doc
    if (!mobile?.mdn || (before && mobileNumberOf(doc) === mobileNumberOf(before.doc))) return {}
    return mobileNumbers.problems(actor, account, mobile.mdn, before?.id)
  }

  return records(store, {
    collection: devices,
    shape: deviceShape,
    async problems(proposal) {
      const { account, actor, data, before } = proposal
      const doc = storedDevice(data, account.doc.realm, before?.doc)
      return joinProblems(
        await uniqueProblems(store, uniqueNamesOf(account.id, doc), before),
        await realmProblems(account, doc, before),
        await ownerProblems(store, account.id, doc, before),
        await mobileProblems(proposal, doc),
        await destinations.problems(account, destinationsOf(doc), before ? destinationsOf(before.doc) : []),
        deviceProblems(doc, before?.doc, { mayRetype: isSuperduper(actor) }),
        before ? restrictionProblems(actor, doc, before.doc) : {},
      )
    },
    content: ({ account, data, before }) => ({ doc: storedDevice(data, account.doc.realm, before?.doc) }),
    async beforeWrite(set, { before, after }) {
      const [had, has] = [before && mobileNumberOf(before.doc), mobileNumberOf(after.doc)]
      if (before && had && had !== has) await mobileNumbers.release(set, before, had)
      if (has && had !== has) await mobileNumbers.claim(set, after, has)
      set.tell(deviceChanged, { before, after })
    },
    async beforeDelete(set, device) {
      const number = mobileNumberOf(device.doc)
      if (number) await mobileNumbers.release(set, device, number)
      set.tell(deviceDeleted, device)
    },
  })
}

export type Devices = ReturnType<typeof createDevices>

export const createDevices = (deps: Deps) => {
  const devices = createDeviceStore(deps.store)

  return {
    ...deviceRecords(deps, devices),
    ...devicePhones(deps.mediaSwitch, devices),
    claims: sipClaims,
    underRealm: devices.underRealm,
    usernamesUnder: devices.usernamesUnder,

    /** Every device of an account, or of one user, in batches. */
    all: (accountId: string, ownerId?: string) => devices.batches({ accountId, ownerId }),

    /** The devices that ring for a user: those where the user is signed in, and the user's own where no one else is. */
    async reaching(accountId: string, userId: string): Promise<string[]> {
      const [own, signedIn] = await Promise.all([
        devices.page({ accountId, ownerId: userId, limit: maxReaching, descending: false }),
        devices.signedIn(accountId, userId),
      ])
      const free = own.filter(({ doc }) => Object.keys(doc.hotdesk?.users ?? {}).length === 0)
      return [...new Set([...free.map(({ id }) => id), ...signedIn])]
    },

    /** The account's device of this SIP user name, under the account's own realm. */
    byUsername: (accountId: string, username: string) => devices.holder(usernameClaim(accountId, username)),

    /** The device of this name under a realm that no account has. */
    byIdentity: (username: string, realm: string) => devices.holder(identityClaim(username, realm)),

    byAddress: (address: string) => devices.holder(addressClaim(address)),
  }
}
