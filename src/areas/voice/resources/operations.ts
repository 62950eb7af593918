import { hash } from 'node:crypto'
import { type AccountRecord, type Actor, isSuperduper } from '../../../auth/identity.ts'
import { type Address, formatAddress } from '../../../lib/cidr.ts'
import { joinProblems } from '../../../lib/failure.ts'
import { present } from '../../../lib/json.ts'
import { oncePer } from '../../../lib/once-per.ts'
import { storedPart } from '../../../lib/record-shape.ts'
import { bracketed, sipAddress } from '../../../lib/sip-host.ts'
import type { Outgoing } from '../../../outgoing/client.ts'
import { systemScope } from '../../../storage/change-set.ts'
import type { DepsOf } from '../../area.ts'
import { type RecordsDefinition, records } from '../../records.ts'
import type { Destinations } from './destinations.operations.ts'
import type { CarrierHosts } from './hosts.operations.ts'
import { comesFrom, isAmongAddresses, plainHost } from './hosts.rules.ts'
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

interface TargetQuestion extends CarrierCallQuery {
  /** Only the carriers of this account, which is the calling one or one above it. */
  huntAccountId?: string | undefined
  /** Only carriers of the whole system. */
  isGlobalOnly?: true | undefined
}

const standardProgressSeconds = 10

// No caller waits for more attempts.
const maxTargets = 20

/** `ha1`: MD5 of `username:realm:password`. The password never leaves the server. */
const credentialsOf = ({ server, username, password, realm = server }: Readonly<Gateway>) =>
  username === undefined || password === undefined
    ? present({ username, realm: undefined, ha1: undefined })
    : present({ username, realm, ha1: hash('md5', `${username}:${realm}:${password}`, 'hex') })

/** `global`: the carrier is one of the whole system, so the account pays the system's rates. */
const gatewayTargetOf = ({ carrier, gateway, number }: Choice, global: boolean) => {
  const { server, port, transport, proxy, codecs, custom_sip_headers: headers = {} } = gateway
  return {
    type: 'gateway' as const,
    resource_id: carrier.id,
    // Without a user: `sip:carrier.example:5060;transport=tcp`.
    uri: sipAddress({ host: server, port, transport }),
    number,
    ...credentialsOf(gateway),
    ...present({
      proxy: proxy === undefined ? undefined : sipAddress({ host: proxy, transport }),
      codecs: codecs?.length ? codecs : undefined,
      headers: Object.keys(headers).length > 0 ? headers : undefined,
    }),
    progress_timeout_s: gateway.progress_timeout ?? standardProgressSeconds,
    failover_codes: failoverCodesOf(carrier.doc),
    ...present({ from_realm: carrier.doc.from_uri_realm }),
    global,
  }
}

export type GatewayTarget = ReturnType<typeof gatewayTargetOf>

/** Nearest first. */
const chainOf = ({ id, hidden: { tree } }: AccountRecord) => [id, ...tree.toReversed()]

const plainHostsOf = (resource: Partial<Resource>) => [
  ...new Set(hostsOf(resource).map(({ text }) => plainHost(text))),
]

const isOperator = (actor: Actor | undefined) => actor !== undefined && isSuperduper(actor)

/** A host that the operator writes into an account's carrier stays allowed while the carrier has it. */
const hiddenOf = (
  actor: Actor | undefined,
  doc: ResourceDoc,
  before: ResourceRecord | undefined,
): ResourceHidden => {
  const wereThere = plainHostsOf(before?.doc ?? {})
  const wereOperators = before?.hidden.operatorHosts ?? []
  const operatorHosts = plainHostsOf(doc).filter(
    (host) => wereOperators.includes(host) || (isOperator(actor) && !wereThere.includes(host)),
  )
  return operatorHosts.length > 0 ? { operatorHosts } : {}
}

const carrierRecords = ({ store, resources, destinations }: Deps) => {
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
          : await destinations.problems(account, hostsOf(data), hostsOf(before?.doc ?? {}), 'carrier'),
      ),
  })
  return { ofSystem, ofAccounts }
}

const carrierIn = oncePer(({ id, doc }: ResourceRecord) => compileCarrier(id, doc))

const carrierTargets = ({ resources, destinations }: Deps) => {
  /** A gateway of an account's own carrier, if its hosts may be called now. */
  const localTarget = async (
    choice: Choice,
    { accountId, hidden: { operatorHosts = [] } }: ResourceRecord,
  ): Promise<GatewayTarget[]> => {
    const target = gatewayTargetOf(choice, false)
    const { server, port, transport, proxy } = choice.gateway
    const isTrusted = (host: string) => operatorHosts.includes(plainHost(host))
    const own = { host: server, port, transport }
    const last = proxy === undefined ? own : { host: proxy, transport }
    if (last !== own && !isTrusted(server) && !(await destinations.mayName(accountId, own, 'carrier')))
      return []
    if (isTrusted(last.host)) return [target]
    const reached = await destinations.reach(accountId, last, 'carrier')
    if (!reached) return []
    return [reached.proxy === undefined ? target : { ...target, proxy: reached.proxy }]
  }

  return {
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
      const tiers = await Promise.all(owners.map((owner) => resources.few(owner)))
      const found = new Map(tiers.flat().map((record) => [carrierIn(record), record]))
      const local = chooseGateways(
        tiers.map((tier) => tier.map(carrierIn)),
        question,
      )
      const system = huntAccountId === undefined ? await resources.few(systemScope) : []
      const global = chooseGateways([system.map(carrierIn)], question)
      const ofAccounts = await Promise.all(
        local.slice(0, maxTargets).map((choice) => {
          const record = found.get(choice.carrier)
          return record ? localTarget(choice, record) : []
        }),
      )
      const ofSystem = global.map((choice) => gatewayTargetOf(choice, true))
      return [...ofAccounts.flat(), ...ofSystem].slice(0, maxTargets)
    },
  }
}

const carrierOrigins = ({ resources, hosts, outgoing }: Deps) => {
  const carriersOf = async (ownerId: string) => (await resources.few(ownerId)).map(carrierIn)

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

export type Resources = ReturnType<typeof createResources>

export const createResources = (deps: Deps) => ({
  ...carrierRecords(deps),
  ...carrierTargets(deps),
  ...carrierOrigins(deps),
})
