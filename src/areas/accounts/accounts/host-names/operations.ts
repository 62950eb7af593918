import { accountKind } from '../../../../auth/identity.ts'
import type { Problems } from '../../../../lib/failure.ts'
import { hostNameOf } from '../../../../lib/host-name.ts'
import { crossbarSettings } from '../../../../settings/documents.ts'
import { systemScope } from '../../../../storage/change-set.ts'
import type { DepsOf } from '../../../area.ts'
import {
  type Claimant,
  type Holding,
  holdingIn,
  hostNameClaimName,
  hostNamePrefixes,
  isPlainHostName,
  mayHaveToo,
  namesAbove,
  type Relation,
  realmFormProblem,
  reservationOf,
  reservationProblem,
  type StoredHostNameUse,
  takenProblem,
  type WantedHostName,
} from './rules.ts'

const holdersAtOnce = 200

/** The hosts that the DNS template derives from a domain. */
export type DerivedHostsOf = (domain: string) => Promise<readonly string[]>

type WantedHost = Omit<WantedHostName, 'path' | 'text'> & { host: string }

export type HostNames = ReturnType<typeof createHostNames>

/** Host names of brands, conferences and realms, compared as one tree. */
export const createHostNames = ({ store, settings }: DepsOf<'store' | 'settings'>) => {
  const { records } = store

  const relationTo = async ({ id, tree }: Claimant, holderId: string): Promise<Relation> => {
    const holder = await records.find(holderId, accountKind, holderId)
    return {
      isSelf: holderId === id,
      isAncestor: tree.includes(holderId),
      isDescendant: id !== undefined && holder?.hidden.tree.includes(id) === true,
    }
  }

  const isAny = async (
    claimant: Claimant,
    holdings: readonly Holding[],
    is: (relation: Relation, use: StoredHostNameUse) => boolean,
  ) => {
    for (const { accountId, use } of holdings) if (is(await relationTo(claimant, accountId), use)) return true
    return false
  }

  /** Who has the names with this prefix, in batches. */
  async function* heldAt(prefix: string): AsyncGenerator<readonly Holding[]> {
    let after = ''
    for (;;) {
      const values = await records.names(systemScope, hostNameClaimName, prefix, holdersAtOnce, after)
      yield values.map(holdingIn)
      if (values.length < holdersAtOnce) return
      after = values.at(-1) ?? after
    }
  }

  const holdersOf = async (host: string): Promise<readonly Holding[]> => {
    const found: Holding[] = []
    for await (const holdings of heldAt(hostNamePrefixes(host).itself)) found.push(...holdings)
    return found
  }

  const isTakenItself = async (
    claimant: Claimant,
    wanted: StoredHostNameUse,
    holdings: readonly Holding[],
  ) => {
    const isShared = (relation: Relation, held: StoredHostNameUse) => relation.isAncestor && held !== 'realm'
    const isSharedAbove = await isAny(claimant, holdings, isShared)
    const isRefused = (relation: Relation, held: StoredHostNameUse) =>
      !mayHaveToo(wanted, held, { ...relation, isSharedAbove })
    return isAny(claimant, holdings, isRefused)
  }

  /** Whether another account has a host that the template derives from this domain. */
  const isDerivedTaken = async (
    claimant: Claimant,
    { host, use }: WantedHost,
    derivedHostsOf: DerivedHostsOf,
  ) => {
    for (const derived of use === 'domain' ? await derivedHostsOf(host) : []) {
      const holdings = derived === host ? [] : await holdersOf(derived)
      if (await isTakenItself(claimant, 'derived', holdings)) return true
    }
    return false
  }

  const isTakenAbove = async (claimant: Claimant, wanted: WantedHost, derivedHostsOf: DerivedHostsOf) => {
    for (const above of namesAbove(wanted.host)) {
      const holdings = await holdersOf(above)
      if (holdings.length === 0) continue
      // An account below the owner may have the same name: it owns nothing below it.
      if (!(await isAny(claimant, holdings, ({ isSelf, isAncestor }) => isSelf || isAncestor))) return true
      const domains = holdings.filter(({ use }) => use === 'domain')
      const isDerived = domains.length > 0 && (await derivedHostsOf(above)).includes(wanted.host)
      const derived = domains.map(({ accountId }) => ({ accountId, use: 'derived' as const }))
      if (isDerived && (await isTakenItself(claimant, wanted.use, derived))) return true
    }
    return false
  }

  /** Whether another account has the name, one above it or one below it. The master account is an ancestor of all accounts. */
  const isTaken = async (claimant: Claimant, wanted: WantedHost, derivedHostsOf: DerivedHostsOf) => {
    const holdings = await holdersOf(wanted.host)
    if (await isTakenItself(claimant, wanted.use, holdings)) return true
    if (await isDerivedTaken(claimant, wanted, derivedHostsOf)) return true
    if (await isTakenAbove(claimant, wanted, derivedHostsOf)) return true
    // An account above that has the same name, or the master account, owns the names below it.
    const isOwnedAbove = await isAny(claimant, holdings, ({ isAncestor }) => isAncestor)
    if (isOwnedAbove || claimant.tree.length === 0 || wanted.mayBeAbove) return false
    const isStrange = ({ isSelf, isDescendant }: Relation) => !isSelf && !isDescendant
    for await (const below of heldAt(hostNamePrefixes(wanted.host).below))
      if (await isAny(claimant, below, isStrange)) return true
    return false
  }

  const operatorHosts = async ({ use, isConfirmed }: WantedHostName) => {
    const { public_hosts: hosts, recovery_ui_hosts: others } = await settings.of(crossbarSettings)
    return {
      own: [...hosts, ...others.filter((host) => host !== '*')],
      // Realms of customers are generated below the operator's names.
      parents: use === 'realm' || isConfirmed ? [] : hosts,
    }
  }

  const problemOf = async (
    claimant: Claimant,
    wanted: WantedHostName,
    derivedHostsOf: DerivedHostsOf,
  ): Promise<Problems> => {
    const { path, text, ...rest } = wanted
    const host = hostNameOf(text)
    if (host === undefined) return {}
    const isMaster = claimant.tree.length === 0
    const hosts = isMaster ? { own: [], parents: [] } : await operatorHosts(wanted)
    const reservation = reservationOf(host, rest.use, hosts)
    if (reservation) return { [path]: reservationProblem(reservation, text) }
    return (await isTaken(claimant, { ...rest, host }, derivedHostsOf)) ? { [path]: takenProblem(text) } : {}
  }

  const problems = async (
    claimant: Claimant,
    wanted: readonly WantedHostName[],
    derivedHostsOf: DerivedHostsOf = async () => [],
  ): Promise<Problems> => {
    const found: Problems = {}
    for (const one of wanted) Object.assign(found, await problemOf(claimant, one, derivedHostsOf))
    return found
  }

  return {
    /** The accounts that have a host name, in batches; one of several names may come several times. */
    async *holders(signal: AbortSignal): AsyncGenerator<readonly string[]> {
      for await (const holdings of heldAt('')) {
        if (signal.aborted) return
        yield [...new Set(holdings.map(({ accountId }) => accountId))]
      }
    },

    /** Why an account may not have these names. Texts that are no host names are skipped: the caller validates the form. */
    problems,

    /** Why an account may not have this SIP realm, also its form. */
    async realmProblems(claimant: Claimant, path: string, text: string): Promise<Problems> {
      const found = await problems(claimant, [{ path, text, use: 'realm' }])
      if (Object.keys(found).length > 0 || isPlainHostName(text)) return found
      return { [path]: realmFormProblem(text) }
    },
  }
}
