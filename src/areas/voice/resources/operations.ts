import { hash } from 'node:crypto'
import { type AccountRecord, type Actor, isSuperduper } from '../../../auth/identity.ts'
import { type Address, formatAddress } from '../../../lib/cidr.ts'
import { joinProblems } from '../../../lib/failure.ts'
import { storedPart } from '../../../lib/record-shape.ts'
import { bracketed, sipAddress } from '../../../lib/sip-host.ts'
import type { Outgoing } from '../../../outgoing/client.ts'
import { systemScope } from '../../../storage/change-set.ts'
import type { Store } from '../../../storage/store.ts'
import { type RecordsDefinition, records } from '../../records.ts'
import type { Destinations } from './destinations.operations.ts'
import type { CarrierHosts } from './hosts.operations.ts'
import { comesFrom, isOneOf, plainHost, type WrittenDestination } from './hosts.rules.ts'
import {
  type Carrier,
  type CarrierCallQuery,
  type Choice,
  carrierOf,
  chooseGateways,
  compileCarrier,
  failoverCodesOf,
  hostsOf,
  isAmong,
  type Origin,
  type ResourceDoc,
  resourceProblems,
  withoutWiderUse,
} from './rules.ts'
import { type Gateway, type Resource, resourceShape } from './schema.ts'
import type { ResourceHidden, ResourceRecord, ResourceStore } from './store.ts'

interface Deps {
  store: Store
  resources: ResourceStore
  hosts: CarrierHosts
  destinations: Destinations
  outgoing: Pick<Outgoing, 'mayCall'>
}

export type { CarrierCallQuery, ResourceRecord }

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
  /** The domain of the caller in the call, instead of the realm of the account. */
  from_realm?: string
  /** Whether it is one of the whole system, so that the account pays the system's rates. */
  global: boolean
}

/** Which calls, and whose carriers they may take. */
interface TargetQuestion extends CarrierCallQuery {
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

const standardProgressSeconds = 10

// Nobody waits until more have failed.
const maxTargets = 20

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
    ...(carrier.doc.from_uri_realm === undefined ? {} : { from_realm: carrier.doc.from_uri_realm }),
    global,
  }
}

/** The account and those above it, nearest first. */
const chainOf = ({ id, hidden: { tree } }: AccountRecord) => [id, ...tree.toReversed()]

export type Resources = ReturnType<typeof createResources>

/** Carriers: who takes calls to numbers outside, and who brings them. */
export const createResources = ({ store, resources, hosts, destinations, outgoing }: Deps) => {
  const compiled = new WeakMap<ResourceRecord, Carrier>()
  const recordOf = new WeakMap<Carrier, ResourceRecord>()

  const carrierIn = (resource: ResourceRecord) => {
    const known = compiled.get(resource) ?? compileCarrier(resource.id, resource.doc)
    compiled.set(resource, known)
    recordOf.set(known, resource)
    return known
  }

  /** A gateway of an account's own carrier, where its hosts may be called now. */
  const localTarget = async (choice: Choice): Promise<GatewayTarget[]> => {
    const target = targetOf(choice, false)
    const record = recordOf.get(choice.carrier)
    if (!record) return []
    const { server, port, transport, proxy } = choice.gateway
    const trusted = new Set(record.hidden.operatorHosts ?? [])
    const isTrusted = (host: string) => trusted.has(plainHost(host))
    const own = { host: server, port, transport }
    const last = proxy === undefined ? own : { host: proxy, transport }
    const { accountId } = record
    if (last !== own && !isTrusted(server) && !(await destinations.mayName(accountId, own, 'carrier')))
      return []
    if (isTrusted(last.host)) return [target]
    const reached = await destinations.reach(accountId, last, 'carrier')
    if (!reached) return []
    return [reached.proxy === undefined ? target : { ...target, proxy: reached.proxy }]
  }

  const carriersOf = async (ownerId: string) => (await resources.few(ownerId)).map(carrierIn)

  const plainHostsOf = (resource: Partial<Resource>) => [
    ...new Set(hostsOf(resource).map(({ host }) => plainHost(host))),
  ]

  const writtenIn = (resource: Partial<Resource>): WrittenDestination[] =>
    hostsOf(resource).map(({ path, host }) => ({ path, form: 'host', text: host }))

  const isOperator = (actor: Actor | undefined) => actor !== undefined && isSuperduper(actor)

  /** A host that the operator writes into the carrier of an account stays allowed while the carrier names it. */
  const hiddenOf = (
    actor: Actor | undefined,
    doc: ResourceDoc,
    before: ResourceRecord | undefined,
  ): ResourceHidden => {
    const wereThere = new Set(plainHostsOf(before?.doc ?? {}))
    const wereOperators = new Set(before?.hidden.operatorHosts ?? [])
    const isOperators = (host: string) =>
      wereOperators.has(host) || (isOperator(actor) && !wereThere.has(host))
    const operatorHosts = plainHostsOf(doc).filter(isOperators)
    return operatorHosts.length > 0 ? { operatorHosts } : {}
  }

  const definition: RecordsDefinition<ResourceDoc, ResourceHidden> = {
    collection: resources,
    shape: resourceShape,
    content({ actor, data, before }) {
      const doc = storedPart<ResourceDoc>(data, resourceShape)
      return { doc, hidden: hiddenOf(actor, doc, before) }
    },
    problems: async ({ data }) => resourceProblems(data),
    adoption: { rules: resourceProblems, repair: withoutWiderUse },
    adopted: ({ id, doc }) => ({
      doc: { name: id, gateways: [], ...doc },
      // The operator has served these carriers before.
      hidden: { operatorHosts: plainHostsOf(doc) },
    }),
  }

  const ofSystem = records(store, { ...definition, ofSystem: true })

  const ofAccounts = records(store, {
    ...definition,
    // Hosts that the operator writes are not checked.
    problems: async ({ actor, account, data, before }) =>
      joinProblems(
        resourceProblems(data),
        isOperator(actor)
          ? {}
          : await destinations.problems(account, writtenIn(data), writtenIn(before?.doc ?? {}), 'carrier'),
      ),
  })

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
    ofAccounts,
    ofSystem,

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
      const ofAccounts = (await Promise.all(local.slice(0, maxTargets).map(localTarget))).flat()
      return [...ofAccounts, ...global.map((choice) => targetOf(choice, true))].slice(0, maxTargets)
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
  }
}
