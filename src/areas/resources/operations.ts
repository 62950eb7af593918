import { hash } from 'node:crypto'
import { type AccountRecord, type Actor, isSuperduper } from '../../auth/identity.ts'
import type { Dns } from '../../dns/dns.ts'
import { type Address, formatAddress } from '../../lib/cidr.ts'
import { joinProblems, type Problems } from '../../lib/failure.ts'
import type { Json } from '../../lib/json.ts'
import { bracketed, isSipHost, sipAddress } from '../../lib/sip-host.ts'
import type { Outgoing } from '../../outgoing/client.ts'
import { type Author, ChangeSet, systemScope } from '../../storage/change-set.ts'
import { readsOf } from '../../storage/collection.ts'
import type { Store } from '../../storage/store.ts'
import { type Adoption, adoptingInto } from '../adoption.ts'
import { createCarrierHosts } from './hosts/operations.ts'
import { comesFrom, isOneOf } from './hosts/rules.ts'
import {
  type CallQuestion,
  type Carrier,
  type CarrierQuestion,
  type Choice,
  carrierOf,
  chooseGateways,
  compileCarrier,
  failoverCodesOf,
  hostsOf,
  insideProblem,
  isAmong,
  type Origin,
  resourceProblems,
  storedHalf,
} from './rules.ts'
import { type CarrierAnswer, type Gateway, Resource } from './schema.ts'
import { createResourceStore, type ResourceRecord } from './store.ts'

interface Tools {
  store: Store
  dns: Pick<Dns, 'find'>
  outgoing: Pick<Outgoing, 'mayCall'>
  /** The account that has a number, however it is written. */
  accountOfNumber(number: string): Promise<AccountRecord | undefined>
}

export type { CallQuestion, ResourceRecord }

/** A gateway of a carrier, as an edge sends a call to it. */
export interface GatewayTarget {
  type: 'gateway'
  resource_id: string
  /** Where it stands, without a user: `sip:carrier.example:5060;transport=tcp`. */
  uri: string
  /** As the carrier wants it. */
  number: string
  username?: string
  /** Of the credentials. */
  realm?: string
  /** MD5 of `username:realm:password`, in hex. The password is told to nobody. */
  ha1?: string
  /** Where the call is sent to instead of `uri`, which stays in the request. */
  proxy?: string
  codecs?: readonly string[]
  /** Headers to add. */
  headers?: Readonly<Record<string, string>>
  /** Seconds that it may take to ring. */
  progress_timeout_s: number
  failover_codes: readonly number[]
  /** Whether it is one of the whole system, so that the account pays the system's rates. */
  global: boolean
}

/** Which calls, and whose carriers they may take. */
export interface TargetQuestion extends CallQuestion {
  /** The account, or one above it, whose carriers alone may be taken; those of the system then are not. */
  huntAccountId?: string | undefined
  /** Carriers of the whole system alone may be taken. */
  isGlobalOnly?: true | undefined
}

interface OwnersCarrier {
  carrier?: Carrier
  /** Nothing that would have to be known is not known yet. */
  isSure: boolean
}

/** A carrier, where there is one, and whose it is. */
interface KnownCarrier extends Pick<OwnersCarrier, 'isSure'> {
  resourceId?: string
  /** Undefined: one of the whole system. */
  accountId?: string | undefined
}

interface Proposal {
  actor: Actor
  data: Partial<Resource>
  /** Whose it is to be; undefined: the whole system's. */
  account: AccountRecord | undefined
  own?: ResourceRecord | undefined
}

const standardProgressSeconds = 10

// As long as other answers to edges; shorter while a host name that would decide is not found yet.
const maxAgeSeconds = 60
const unsureSeconds = 5

// Nobody waits until more have failed.
const mostTargets = 20

const credentialsOf = ({ server, username, password, realm = server }: Readonly<Gateway>) => {
  if (username === undefined) return {}
  if (password === undefined) return { username }
  return { username, realm, ha1: hash('md5', `${username}:${realm}:${password}`, 'hex') }
}

const targetOf = ({ carrier, gateway, number }: Choice, global: boolean): GatewayTarget => {
  const { server, port, transport, proxy, codecs, custom_sip_headers: headers } = gateway
  return {
    type: 'gateway',
    resource_id: carrier.id,
    uri: sipAddress({ host: server, port, transport }),
    number,
    ...credentialsOf(gateway),
    ...(proxy === undefined ? {} : { proxy: sipAddress({ host: proxy, transport }) }),
    ...(codecs?.length ? { codecs } : {}),
    ...(headers && Object.keys(headers).length > 0 ? { headers } : {}),
    progress_timeout_s: gateway.progress_timeout ?? standardProgressSeconds,
    failover_codes: failoverCodesOf(carrier.doc),
    global,
  }
}

/** The account and those above it, nearest first. */
const chainOf = ({ id, hidden: { tree } }: AccountRecord) => [id, ...tree.toReversed()]

export type Resources = ReturnType<typeof createResources>

/** Carriers: who takes calls to numbers outside, and who brings them. */
export const createResources = ({ store, dns, outgoing, accountOfNumber }: Tools) => {
  const resources = createResourceStore(store)
  const hosts = createCarrierHosts({ clock: store.clock, dns })
  const compiled = new WeakMap<ResourceRecord, Carrier>()

  const carrierIn = (resource: ResourceRecord) => {
    const known = compiled.get(resource) ?? compileCarrier(resource.id, resource.doc)
    compiled.set(resource, known)
    return known
  }

  const carriersOf = async (ownerId: string) => (await resources.few(ownerId)).map(carrierIn)

  const save = async (author: Author, change: (set: ChangeSet) => void) => {
    const set = new ChangeSet(author)
    change(set)
    await store.commit(set)
  }

  /** A customer leads nobody into networks of the operator. What the operator has said before stays. */
  const insideProblems = async ({ actor, account, data, own }: Proposal): Promise<Problems> => {
    if (!account || isSuperduper(actor)) return {}
    const had = new Set(hostsOf(own?.doc ?? {}).map(({ host }) => host))
    const found = hostsOf(data)
      .filter(({ host }) => isSipHost(host) && !had.has(host))
      .map(async ({ path, host }) =>
        (await outgoing.mayCall(`http://${bracketed(host)}`)) ? {} : insideProblem(path, host),
      )
    return joinProblems(...(await Promise.all(found)))
  }

  /** A name that a customer says is not believed where it leads into networks of the operator. */
  const mayStandAt = async (ownerId: string, { address }: Origin) =>
    ownerId === systemScope || (await outgoing.mayCall(`http://${bracketed(formatAddress(address))}`))

  /** The carrier of an owner that an address belongs to: by itself, else by a name that leads there. */
  const carrierOfOwner = async (ownerId: string, origin: Origin): Promise<OwnersCarrier> => {
    const carriers = await carriersOf(ownerId)
    const plain = carrierOf(carriers, origin)
    if (plain) return { carrier: plain, isSure: true }
    const named = carriers.flatMap((carrier) => carrier.hosts)
    if (named.length === 0 || !(await mayStandAt(ownerId, origin))) return { isSure: true }
    const { addresses, isWhole } = await hosts.of(named)
    const carrier = carriers.find((one) =>
      one.hosts.some((host) => comesFrom(host, addresses.get(host) ?? [], origin)),
    )
    return carrier ? { carrier, isSure: true } : { isSure: isWhole }
  }

  const carrierAt = async (origin: Origin, account: AccountRecord | undefined): Promise<KnownCarrier> => {
    let isSure = true
    for (const ownerId of [systemScope, ...(account ? chainOf(account) : [])]) {
      const found = await carrierOfOwner(ownerId, origin)
      isSure &&= found.isSure
      if (found.carrier)
        return {
          resourceId: found.carrier.id,
          accountId: ownerId === systemScope ? undefined : ownerId,
          isSure,
        }
    }
    return { isSure }
  }

  return {
    ...readsOf(resources),

    /** What the schema cannot know. */
    judge: async (proposal: Proposal): Promise<Problems> =>
      joinProblems(resourceProblems(proposal.data), await insideProblems(proposal)),

    async create(author: Author, ownerId: string, data: Json): Promise<ResourceRecord> {
      const resource = resources.draft(ownerId, { doc: storedHalf(data), hidden: {} })
      await save(author, (set) => resources.insert(set, resource))
      return resource
    },

    async replace(author: Author, before: ResourceRecord, data: Json): Promise<ResourceRecord> {
      const after = resources.revise(before, { doc: storedHalf(data) })
      await save(author, (set) => resources.replace(set, before, after))
      return after
    },

    remove: (author: Author, resource: ResourceRecord) =>
      save(author, (set) => resources.remove(set, resource)),

    /** Carriers of accounts of another system. */
    adoption: {
      schema: Resource,
      ...adoptingInto(resources, ({ id, doc }) => ({ doc: { name: id, gateways: [], ...doc }, hidden: {} })),
    } satisfies Adoption,

    /**
     * The gateways that a call of an account is sent to, one after the other: those of its own carriers, then of the
     * accounts above it, then of the system.
     */
    async targetsFor(
      account: AccountRecord,
      { huntAccountId, isGlobalOnly, ...question }: TargetQuestion,
    ): Promise<readonly GatewayTarget[]> {
      const chain = isGlobalOnly ? [] : chainOf(account)
      const owners = huntAccountId === undefined ? chain : chain.filter((id) => id === huntAccountId)
      const local = chooseGateways(await Promise.all(owners.map(carriersOf)), question)
      const global =
        huntAccountId === undefined ? chooseGateways([await carriersOf(systemScope)], question) : []
      return [
        ...local.map((choice) => ({ choice, isGlobal: false })),
        ...global.map((choice) => ({ choice, isGlobal: true })),
      ]
        .slice(0, mostTargets)
        .map(({ choice, isGlobal }) => targetOf(choice, isGlobal))
    },

    /**
     * The carrier that calls from an address come from: one of the whole system or, for calls to a number of an account,
     * one of the account or of those above it. What a customer says of addresses opens the door to nobody else.
     */
    carrierAt,

    /** Whether an address is one of a carrier of the whole system: nobody else is known by it. */
    async isCarriers(address: Address): Promise<boolean> {
      const carriers = await carriersOf(systemScope)
      if (isAmong(carriers, address)) return true
      const { addresses } = await hosts.of(carriers.flatMap((carrier) => carrier.hosts))
      return [...addresses.values()].some((found) => isOneOf(found, address))
    },

    /** Whether a call from an address may come in; for a number also by carriers of whose it is. */
    async decide({ number, ...origin }: CarrierQuestion): Promise<CarrierAnswer> {
      const account = number === undefined ? undefined : await accountOfNumber(number)
      const { resourceId, accountId, isSure } = await carrierAt(origin, account)
      const max_age_s = isSure ? maxAgeSeconds : unsureSeconds
      if (resourceId === undefined) return { allowed: false, reason: 'unknown_address', max_age_s }
      return {
        allowed: true,
        resource_id: resourceId,
        ...(accountId === undefined ? {} : { account_id: accountId }),
        reason: accountId === undefined ? 'carrier' : 'carrier_of_account',
        max_age_s,
      }
    },
  }
}
