import { hash } from 'node:crypto'
import {
  type AccountRecord,
  type Actor,
  disabledOf,
  isAbove,
  isSuperduper,
  userKind,
} from '../../../auth/identity.ts'
import { formatAddress } from '../../../lib/cidr.ts'
import { failure, forbidden } from '../../../lib/failure.ts'
import { present } from '../../../lib/json.ts'
import type { Party } from '../../../switch/media-switch.ts'
import type { Accounts } from '../../accounts/accounts/operations.ts'
import type { AreaDeps } from '../../area.ts'
import type { Intake } from '../../calls/cdrs/intake/operations.ts'
import type { Cdrs } from '../../calls/cdrs/operations.ts'
import type { Alerts } from '../../events/alerts/operations.ts'
import type { Numbers } from '../../numbers/phone-numbers/operations.ts'
import { decideAccess } from '../access-lists/rules.ts'
import type { TrunkServer, Trunks } from '../connectivity/operations.ts'
import type { DeviceRecord, Devices } from '../devices/operations.ts'
import type { RateLimits } from '../rate-limits/operations.ts'
import type { Resources } from '../resources/operations.ts'
import { maxAgeSeconds } from '../routing/rules.ts'
import type { RunningCallRegister } from '../routing/running.operations.ts'
import { type CarrierQuery, type EdgeQuery, mayBe } from './rules.ts'
import type { CarrierAnswer, EdgeAnswer } from './schema.ts'

/** What the factories of this area get. */
export interface EdgeDeps extends AreaDeps {
  accounts: Accounts
  alerts: Pick<Alerts, 'raise'>
  devices: Devices
  rateLimits: RateLimits
  resources: Resources
  trunks: Trunks
  numbers: Numbers
  intake: Pick<Intake, 'take'>
  legs: Cdrs['legs']
  running: Pick<RunningCallRegister, 'end'>
}

/** Who sends a packet: a device, or the server of a trunk; neither if the account does not know it. */
export interface Sender {
  account: AccountRecord
  device?: DeviceRecord | undefined
  trunk?: TrunkServer | undefined
  /** The sender is known by its address and needs no password. */
  method?: 'ip'
}

type Claim = Pick<EdgeQuery, 'realm' | 'username' | 'address'>

export const mayAsk = (actor: Actor, account: AccountRecord) => isSuperduper(actor) || isAbove(actor, account)

/** Only the operator gets credentials. */
export const assertMayHaveCredentials = (
  actor: Actor,
  { withCredentials }: Pick<EdgeQuery, 'withCredentials'>,
) => {
  if (withCredentials && !isSuperduper(actor))
    throw failure(forbidden, { cause: 'only the keys of operators may read credentials' })
}

/** An edge must not get "unknown realm" for its own realm. */
export const ownRealm = () => failure(forbidden, { cause: 'only parent accounts of a realm may query it' })

/**
 * The digest that a proxy compares with, never the password. The names are those of the request, because phones hash them
 * as they send them.
 */
const credentialsOf = ({ device, trunk }: Sender, { realm, username }: EdgeQuery) => {
  const sip: DeviceRecord['doc']['sip'] | TrunkServer = trunk ?? device?.doc.sip
  const password = (sip?.method ?? 'password') === 'password' ? sip?.password : undefined
  const ha1 = password === undefined ? undefined : hash('md5', `${username}:${realm}:${password}`, 'hex')
  return present({ ha1, expires_s: device?.doc.sip?.expire_seconds })
}

/** Finds senders. Named devices come first, then servers of trunks, then senders that are known by their address. */
const senders = ({ accounts, devices, resources, trunks }: EdgeDeps) => {
  const inRealmOf = async ({ id }: AccountRecord, { realm, username }: Claim) => {
    const device = username === undefined ? undefined : await devices.byUsername(id, username)
    const own = device?.doc.sip?.realm ?? realm
    return own.toLowerCase() === realm.toLowerCase() ? device : undefined
  }

  /** The owner of a realm comes before devices that only name it. */
  const namedSenderOf = async (query: Claim): Promise<Sender | undefined> => {
    const { realm, username } = query
    const owner = await accounts.byRealm(realm)
    if (owner) return { account: owner, device: await inRealmOf(owner, query) }
    const device = username === undefined ? undefined : await devices.byIdentity(username, realm)
    const account = device && (await accounts.find(device.accountId))
    return account && { account, device }
  }

  const trunkOf = async ({ realm, username }: Claim, owner: AccountRecord | undefined) => {
    const trunk = username === undefined ? undefined : await trunks.byUser(username, realm, owner)
    const account = trunk && (owner ?? (await accounts.find(trunk.accountId)))
    return account && { account, trunk }
  }

  /** The sender with an address, within the owner's account if the realm has an owner. Carriers are not senders. */
  const neighbourOf = async (
    { address }: Claim,
    owner: AccountRecord | undefined,
  ): Promise<Sender | undefined> => {
    if (!address) return undefined
    const text = formatAddress(address)
    const device = await devices.byAddress(text)
    const trunk = device ? undefined : await trunks.byAddress(text)
    const accountId = (device ?? trunk)?.accountId
    if (accountId === undefined || (owner && owner.id !== accountId)) return undefined
    if (await resources.isCarriers(address)) return undefined
    const account = owner ?? (await accounts.find(accountId))
    return account && { account, device, trunk, method: 'ip' }
  }

  return async (query: Claim): Promise<Sender | undefined> => {
    const named = await namedSenderOf(query)
    if (named?.device) return named
    const owner = named?.account
    return (await trunkOf(query, owner)) ?? (await neighbourOf(query, owner)) ?? named
  }
}

export type Edge = ReturnType<typeof createEdge>

/** Answers for edges. They ask for every packet that they have not cached, so all reads are cached. */
export const createEdge = (deps: EdgeDeps) => {
  const { accounts, devices, rateLimits, trunks } = deps
  const { records } = deps.store
  const senderOf = senders(deps)

  const stranger = ({ address }: EdgeQuery): EdgeAnswer => ({
    access_lists: { realm: { order: 'allow,deny', cidrs: [] } },
    rate_limits: rateLimits.ofUnknownRealm,
    max_age_s: maxAgeSeconds,
    ...(address ? { allowed: false, reason: 'unknown_realm' } : {}),
  })

  const isOwnerDisabled = async ({ accountId, doc }: DeviceRecord) =>
    doc.owner_id !== undefined &&
    (await records.find(accountId, userKind, doc.owner_id))?.doc.enabled === false

  /** Disabled records, account first. They override access lists. */
  const disabled = async ({ account, device, trunk }: Sender) => {
    if (await disabledOf(records, account)) return 'account_disabled'
    if (trunk?.isEnabled === false) return 'trunk_disabled'
    if (device && (await isOwnerDisabled(device))) return 'user_disabled'
    return device?.doc.enabled === false ? 'device_disabled' : undefined
  }

  const answerOf = async (sender: Sender, query: EdgeQuery): Promise<EdgeAnswer> => {
    const { address, userAgent, withCredentials } = query
    const { account, device, trunk, method } = sender
    const realmList = account.doc.access_lists
    const deviceList = device?.doc.access_lists
    const reason = await disabled(sender)
    return {
      account_id: account.id,
      ...present({
        device_id: device?.id,
        owner_id: device?.doc.owner_id,
        trunk_id: trunk?.trunkId,
        server: trunk?.server,
        method,
      }),
      ...(withCredentials ? credentialsOf(sender, query) : {}),
      access_lists: present({ realm: realmList, device: deviceList }),
      rate_limits: await rateLimits.inForce(account, device),
      max_age_s: maxAgeSeconds,
      ...(address ? decideAccess({ realmList, deviceList, address, userAgent }) : {}),
      ...(reason ? { allowed: false, reason } : {}),
    }
  }

  const isTrunkOn = async ({ accountId, id, server }: Party) => {
    for await (const servers of trunks.servers(accountId))
      if (servers.some((one) => one.trunkId === id && one.isEnabled && mayBe(one, server))) return true
    return false
  }

  return {
    senderOf,
    answerOf,
    stranger,

    /** Whether packets of a party would be refused now, without regard to access lists. */
    async isRefused(party: Party): Promise<boolean> {
      const { accountId, type, id } = party
      const account = await accounts.find(accountId)
      if (!account || (type === 'trunk' && !(await isTrunkOn(party)))) return true
      const isDevice = type === 'device' && id !== ''
      const device = isDevice ? await devices.find(accountId, id) : undefined
      if (isDevice && !device) return true
      return (await disabled({ account, device })) !== undefined
    },

    /**
     * A realm that the actor may not see is answered like an unknown one. The exception is the actor's own realm, where that
     * answer would mislead.
     */
    async decide(actor: Actor, query: EdgeQuery): Promise<EdgeAnswer> {
      assertMayHaveCredentials(actor, query)
      const sender = await senderOf(query)
      if (!sender) return stranger(query)
      if (mayAsk(actor, sender.account)) return answerOf(sender, query)
      if (sender.account.id === actor.accountId) throw ownRealm()
      return stranger(query)
    },
  }
}

// Seconds that an edge caches a decision while the DNS of a carrier has not answered.
const unsureMaxAgeSeconds = 5

export type CarrierDecisions = ReturnType<typeof createCarrierDecisions>

export const createCarrierDecisions = ({ resources, numbers, accounts }: EdgeDeps) => ({
  /** Whether a call from an address may come in. With a number, the carriers of its account count, too. */
  async decide({ number: text, ...origin }: CarrierQuery): Promise<CarrierAnswer> {
    const number = text === undefined ? undefined : await numbers.findAnywhere(await numbers.normalize(text))
    const account = number && (await accounts.find(number.accountId))
    const { resourceId, accountId, isSure } = await resources.carrierAt(origin, account)
    const max_age_s = isSure ? maxAgeSeconds : unsureMaxAgeSeconds
    if (resourceId === undefined) return { allowed: false, reason: 'unknown_address', max_age_s }
    return {
      allowed: true,
      resource_id: resourceId,
      ...present({ account_id: accountId }),
      reason: accountId === undefined ? 'carrier' : 'carrier_of_account',
      max_age_s,
    }
  },
})
