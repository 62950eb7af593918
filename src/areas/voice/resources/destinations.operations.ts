import { networkInterfaces } from 'node:os'
import { type AccountRecord, accountKind } from '../../../auth/identity.ts'
import { type Address, formatAddress, parseAddress } from '../../../lib/cidr.ts'
import { joinProblems, type Problems } from '../../../lib/failure.ts'
import { carriedAddress, isPrivateAddress } from '../../../lib/private-address.ts'
import { type SipPlace, sipAddress } from '../../../lib/sip-host.ts'
import { crossbarSettings } from '../../../settings/documents.ts'
import { systemScope } from '../../../storage/change-set.ts'
import { switchSettings } from '../../../switch/settings.ts'
import type { AreaDeps } from '../../area.ts'
import type { CarrierHosts, HostPlace } from './hosts.operations.ts'
import {
  type CarrierHost,
  destinationPlace,
  type HostSet,
  hostNamesIn,
  hostOf,
  hostOfUrl,
  hostSet,
  includesHost,
  literalOf,
  namesToLookUp,
  type Objection,
  objectionProblem,
  plainHost,
  type Reached,
  shapeProblem,
  type WrittenDestination,
} from './hosts.rules.ts'
import { carrierHosts } from './rules.ts'
import type { Resource } from './schema.ts'
import type { ResourceStore } from './store.ts'

interface Deps extends Pick<AreaDeps, 'store' | 'settings'> {
  resources: Pick<ResourceStore, 'allHosts' | 'few' | 'namesHost'>
  /** Addresses of carriers and of this platform. */
  carriers: Pick<CarrierHosts, 'knownOf' | 'of'>
  /** Addresses of customers' hosts. A separate cache, so that customers cannot evict carriers. */
  hosts: Pick<CarrierHosts, 'placesOf'>
}

/** A destination for calls to a phone or PBX, or a host of the account's own carrier. */
type Use = 'call' | 'carrier'

const ownAddresses = () =>
  Object.values(networkInterfaces()).flatMap((all) =>
    (all ?? []).flatMap(({ internal, address }) => (internal ? [] : [address.replace(/%.*$/, '')])),
  )

// Milliseconds that the list of all carriers is cached.
const everyonesMs = 30_000

const namesIn = (set: HostSet): CarrierHost[] =>
  hostNamesIn(set).map((name) => ({ ...namesToLookUp(name, undefined), port: undefined }))

/** The hosts that decide where calls of customers may be sent, with the addresses of names. */
const knownHosts = ({ store, settings, resources, carriers }: Deps) => {
  const { records, clock } = store
  let everyones: { hosts: Promise<HostSet>; until: number } | undefined

  /** Adds the known addresses of some hosts, without waiting for DNS. */
  const withKnown = (set: HostSet, hosts = namesIn(set)): HostSet => ({
    ...set,
    names: new Set([...set.names, ...carriers.knownOf(hosts)]),
  })

  /** Adds the addresses of the names, and of further hosts. */
  const withAddresses = async (set: HostSet, further: readonly CarrierHost[] = []): Promise<HostSet> => {
    const all = [...namesIn(set), ...further]
    await carriers.of(all)
    return withKnown(set, all)
  }

  /** The carriers of all accounts, which customers may not call as a phone or PBX. */
  const everyonesHosts = async (): Promise<HostSet> => {
    const now = clock.now()
    if (!everyones || everyones.until <= now) {
      const read = resources.allHosts().then(hostSet)
      everyones = { hosts: read, until: now + everyonesMs }
      // A failed read is repeated.
      read.catch(() => {
        everyones = undefined
      })
    }
    return withKnown(await everyones.hosts)
  }

  /** Carriers of the system and of the accounts above an account. Its own carriers count for calls only. */
  const carriersAround = async (accountId: string, use: Use): Promise<readonly Readonly<Resource>[]> => {
    const account = await records.find(accountId, accountKind, accountId)
    const own = use === 'call' ? [accountId] : []
    const owners = [systemScope, ...own, ...(account?.hidden.tree ?? [])]
    return (await Promise.all(owners.map((owner) => resources.few(owner)))).flat().map(({ doc }) => doc)
  }

  return async (accountId: string, use: Use, countsEveryones: boolean) => {
    const around = await carriersAround(accountId, use)
    const { kamailio, sip_hosts: edges } = await settings.of(switchSettings)
    const { allowed_private_hosts: allowed, public_hosts: own } = await settings.of(crossbarSettings)
    const platform = [...kamailio.rpc_urls.flatMap(hostOfUrl), ...edges, ...own, ...ownAddresses()]
    return {
      carriers: await withAddresses(
        hostSet(around.flatMap(carrierHosts)),
        around.flatMap(({ gateways }) => gateways.flatMap(hostOf)),
      ),
      everyones: countsEveryones ? await everyonesHosts() : undefined,
      platform: await withAddresses(hostSet(platform)),
      /** Private hosts and networks that the operator allows. */
      allowed: hostSet(allowed),
      /** Single hosts that the operator allows: they may also be on this platform. */
      allowedHosts: hostSet(allowed.filter((text) => !text.includes('/'))),
    }
  }
}

type KnownHosts = Awaited<ReturnType<ReturnType<typeof knownHosts>>>

export type Destinations = ReturnType<typeof createDestinations>

/**
 * Checks where customers have calls sent: when they write it, and again for each call, because names can move.
 * Hosts of carriers, edges and this server are rejected, and private networks unless the operator allows them.
 */
export const createDestinations = (deps: Deps) => {
  const { resources, hosts } = deps
  const knownFor = knownHosts(deps)

  /** Two accounts may share a carrier, but neither may call it as a phone or PBX. */
  const isEveryones = async (
    { everyones }: KnownHosts,
    host: string,
    address: Address | undefined,
  ): Promise<boolean> =>
    everyones !== undefined &&
    (includesHost(everyones, host, address) ||
      (await resources.namesHost(address ? formatAddress(address) : plainHost(host))))

  const objectionTo = async (
    known: KnownHosts,
    host: string,
    text: string | undefined,
  ): Promise<Objection | undefined> => {
    const written = text === undefined ? undefined : parseAddress(text)
    const address = written && carriedAddress(written)
    if (includesHost(known.carriers, host, address)) return 'carrier'
    if (includesHost(known.allowedHosts, host, address)) return undefined
    if (await isEveryones(known, host, address)) return 'carrier'
    if (includesHost(known.platform, host, address)) return 'platform'
    if (includesHost(known.allowed, host, address)) return undefined
    return address && isPrivateAddress(text ?? '') ? 'internal' : undefined
  }

  const placesOf = async ({ host, port, transport }: SipPlace): Promise<readonly HostPlace[]> => {
    const literal = literalOf(host)
    if (literal !== undefined) return [{ address: literal }]
    return hosts.placesOf({ ...namesToLookUp(host, port, transport), port: undefined })
  }

  /** The first allowed address, or why there is none. */
  const firstAllowed = async (
    known: KnownHosts,
    place: SipPlace,
  ): Promise<{ at: HostPlace | undefined } | { objection: Objection | undefined }> => {
    let objection = await objectionTo(known, place.host, literalOf(place.host))
    if (objection) return { objection }
    const places = await placesOf(place)
    // A name that only the operator's machines can resolve.
    if (places.length === 0 && includesHost(known.allowedHosts, place.host, undefined))
      return { at: undefined }
    for (const at of places) {
      const against = await objectionTo(known, place.host, at.address)
      if (!against) return { at }
      objection ??= against
    }
    return { objection }
  }

  const problemOf = async (known: KnownHosts, written: WrittenDestination): Promise<Problems> => {
    const place = destinationPlace(written)
    if (!place) return shapeProblem(written)
    // A name without an address is accepted: it is checked again when it is used.
    const found = await firstAllowed(known, place)
    return 'objection' in found && found.objection ? objectionProblem(written, found.objection) : {}
  }

  return {
    /** Problems of new destinations. Those that the record had before are not checked again. */
    async problems(
      { id }: Pick<AccountRecord, 'id'>,
      written: readonly WrittenDestination[],
      before: readonly WrittenDestination[],
      use: Use = 'call',
    ): Promise<Problems> {
      const had = new Set(before.map(({ text }) => text))
      const fresh = written.filter(({ text }) => !had.has(text))
      if (fresh.length === 0) return {}
      const known = await knownFor(id, use, use === 'call')
      return joinProblems(...(await Promise.all(fresh.map((one) => problemOf(known, one)))))
    },

    /** Whether a host may be the target of a call that is sent to a proxy. Its name may have no address. */
    async mayName(accountId: string, place: SipPlace, use: Use): Promise<boolean> {
      const found = await firstAllowed(await knownFor(accountId, use, false), place)
      return 'at' in found || found.objection === undefined
    },

    /** Current destination of a call of an account. Undefined: forbidden, or the name has no address. */
    async reach(accountId: string, place: SipPlace, use: Use = 'call'): Promise<Reached | undefined> {
      // A carrier that is added later must not stop calls to an address.
      const countsEveryones = use === 'call' && literalOf(place.host) === undefined
      const found = await firstAllowed(await knownFor(accountId, use, countsEveryones), place)
      if (!('at' in found)) return undefined
      const uri = sipAddress(place)
      if (literalOf(place.host) !== undefined || !found.at) return { uri }
      const { address, port = place.port } = found.at
      return { uri, proxy: sipAddress({ host: address, port, transport: place.transport }) }
    },
  }
}
