import { hash } from 'node:crypto'
import { type AccountRecord, type Actor, isSuperduper } from '../../../auth/identity.ts'
import { type Address, formatAddress } from '../../../lib/cidr.ts'
import { joinProblems } from '../../../lib/failure.ts'
import { present } from '../../../lib/json.ts'
import { storedPart } from '../../../lib/record-shape.ts'
import { bracketed, sipAddress } from '../../../lib/sip-host.ts'
import type { Outgoing } from '../../../outgoing/client.ts'
import { systemScope } from '../../../storage/change-set.ts'
import type { DepsOf } from '../../area.ts'
import { type RecordsDefinition, records } from '../../records.ts'
import type { Destinations } from './destinations.operations.ts'
import type { CarrierHosts } from './hosts.operations.ts'
import { comesFrom, isAmongAddresses, plainHost, type WrittenDestination } from './hosts.rules.ts'
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

interface Deps extends DepsOf<'store'> {
  resources: ResourceStore
  hosts: CarrierHosts
  destinations: Destinations
  outgoing: Pick<Outgoing, 'mayCall'>
}

export type { CarrierCallQuery, ResourceRecord }

export interface GatewayTarget {
  type: 'gateway'
  resource_id: string
  /** Without a user: `sip:carrier.example:5060;transport=tcp`. */
  uri: string
  /** In the format of the carrier. */
  number: string
  username?: string
  /** Of the credentials. */
  realm?: string
  /** MD5 of `username:realm:password`, in hex. The password never leaves the server. */
  ha1?: string
  /** Where the call is sent instead of `uri`, which stays the request URI. */
  proxy?: string
  codecs?: string[]
  headers?: Readonly<Record<string, string>>
  progress_timeout_s: number
  failover_codes: number[]
  /** The domain of the caller, instead of the realm of the account. */
  from_realm?: string
  /** A carrier of the whole system, so the account pays the system's rates. */
  global: boolean
}

interface TargetQuestion extends CarrierCallQuery {
  /** Only the carriers of this account, which is the calling one or one above it. */
  huntAccountId?: string | undefined
  /** Only carriers of the whole system. */
  isGlobalOnly?: true | undefined
}

const standardProgressSeconds = 10

// No caller waits for more attempts.
const maxTargets = 20

const credentialsOf = ({ server, username, password, realm = server }: Readonly<Gateway>) =>
  username === undefined || password === undefined
    ? present({ username })
    : { username, realm, ha1: hash('md5', `${username}:${realm}:${password}`, 'hex') }

const gatewayTargetOf = ({ carrier, gateway, number }: Choice, global: boolean): GatewayTarget => {
  const { server, port, transport, proxy, codecs, custom_sip_headers: headers = {} } = gateway
  return {
    type: 'gateway',
    resource_id: carrier.id,
    uri: sipAddress({ host: server, port, transport }),
    number,
    ...credentialsOf(gateway),
    ...(proxy === undefined ? {} : { proxy: sipAddress({ host: proxy, transport }) }),
    ...(codecs?.length ? { codecs } : {}),
    ...(Object.keys(headers).length > 0 ? { headers } : {}),
    progress_timeout_s: gateway.progress_timeout ?? standardProgressSeconds,
    failover_codes: failoverCodesOf(carrier.doc),
    ...present({ from_realm: carrier.doc.from_uri_realm }),
    global,
  }
}

/** Nearest first. */
const chainOf = ({ id, hidden: { tree } }: AccountRecord) => [id, ...tree.toReversed()]

export type Resources = ReturnType<typeof createResources>

export const createResources = ({ store, resources, hosts, destinations, outgoing }: Deps) => {
  const compiled = new WeakMap<ResourceRecord, Carrier>()
  const recordOf = new WeakMap<Carrier, ResourceRecord>()

  const carrierIn = (resource: ResourceRecord) => {
    const known = compiled.get(resource) ?? compileCarrier(resource.id, resource.doc)
    compiled.set(resource, known)
    recordOf.set(known, resource)
    return known
  }

  /** A gateway of an account's own carrier, if its hosts may be called now. */
  const localTarget = async (choice: Choice): Promise<GatewayTarget[]> => {
    const target = gatewayTargetOf(choice, false)
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

  /** A host that the operator writes into an account's carrier stays allowed while the carrier has it. */
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
      // The operator has used these carriers before.
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

  /** A customer's host name does not count if it resolves to a network of the operator. */
  const mayStandAt = async (ownerId: string, { address }: Origin) =>
    ownerId === systemScope || (await outgoing.mayCall(`http://${bracketed(formatAddress(address))}`))

  /**
   * The carrier of an owner with this address, or with a name that resolves to it. `isSure`: false if DNS has not answered.
   */
  const carrierOfOwner = async (
    ownerId: string,
    origin: Origin,
  ): Promise<{ carrier?: Carrier | undefined; isSure: boolean }> => {
    const carriers = await carriersOf(ownerId)
    const plain = carrierOf(carriers, origin)
    const named = carriers.flatMap((carrier) => carrier.hosts)
    if (plain || named.length === 0 || !(await mayStandAt(ownerId, origin)))
      return { carrier: plain, isSure: true }
    const { addresses, isWhole } = await hosts.of(named)
    const carrier = carriers.find((one) =>
      one.hosts.some((host) => comesFrom(host, addresses.get(host) ?? [], origin)),
    )
    return { carrier, isSure: carrier !== undefined || isWhole }
  }

  return {
    ofAccounts,
    ofSystem,

    /**
     * The gateways for a call, in order: of the account's own carriers, of the accounts above it, and of the
     * system.
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
      return [...ofAccounts, ...global.map((choice) => gatewayTargetOf(choice, true))].slice(0, maxTargets)
    },

    /**
     * The carrier of an address: one of the whole system or, for calls to a number of an account, one of the
     * account or of those above it. So a customer's carrier opens the door only to the customer.
     */
    async carrierAt(origin: Origin, account: AccountRecord | undefined) {
      let isSure = true
      for (const ownerId of [systemScope, ...(account ? chainOf(account) : [])]) {
        const found = await carrierOfOwner(ownerId, origin)
        isSure &&= found.isSure
        const accountId = ownerId === systemScope ? undefined : ownerId
        if (found.carrier) return { resourceId: found.carrier.id, accountId, isSure }
      }
      return { isSure }
    },

    /** Whether an address belongs to a carrier of the whole system. Such an address identifies no one else. */
    async isCarriers(address: Address): Promise<boolean> {
      const carriers = await carriersOf(systemScope)
      if (isAmong(carriers, address)) return true
      const { addresses } = await hosts.of(carriers.flatMap((carrier) => carrier.hosts))
      return [...addresses.values()].some((found) => isAmongAddresses(found, address))
    },
  }
}
