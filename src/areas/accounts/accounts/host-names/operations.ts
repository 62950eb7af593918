import { accountKind } from '../../../../auth/identity.ts'
import type { Problems } from '../../../../lib/failure.ts'
import { hostNameOf } from '../../../../lib/host-name.ts'
import { crossbarSettings } from '../../../../settings/documents.ts'
import { systemScope } from '../../../../storage/change-set.ts'
import type { DepsOf } from '../../../area.ts'
import {
  type Claimant,
  type Held,
  type Holding,
  holdingIn,
  hostNameClaimName,
  hostNamePrefixes,
  isPlainHostName,
  isTakenBy,
  namesAbove,
  realmFormProblem,
  reservationOf,
  reservationProblem,
  takenProblem,
  type WantedHostName,
} from './rules.ts'

const holdersAtOnce = 200

/** The hosts that the DNS template derives from a domain. */
export type DerivedHostsOf = (domain: string) => Promise<readonly string[]>

type WantedHost = WantedHostName & { host: string }

const createHolders = ({ store: { records } }: DepsOf<'store'>) => {
  /** Holders of the names with this prefix, in batches. */
  async function* holdingsAt(prefix: string): AsyncGenerator<readonly Holding[]> {
    let after = ''
    for (;;) {
      const values = await records.names(systemScope, hostNameClaimName, prefix, holdersAtOnce, after)
      yield values.map(holdingIn)
      if (values.length < holdersAtOnce) return
      after = values.at(-1) ?? after
    }
  }

  const related = async ({ id, tree }: Claimant, { accountId, use }: Holding): Promise<Held> => {
    const holder = await records.find(accountId, accountKind, accountId)
    const isDescendant = id !== undefined && holder?.hidden.tree.includes(id) === true
    return { use, isSelf: accountId === id, isAncestor: tree.includes(accountId), isDescendant }
  }

  return {
    holdingsAt,

    /** The holders of a name itself. */
    async of(claimant: Claimant, host: string): Promise<readonly Held[]> {
      const found: Held[] = []
      for await (const holdings of holdingsAt(hostNamePrefixes(host).itself))
        for (const holding of holdings) found.push(await related(claimant, holding))
      return found
    },

    async areStrangersBelow(claimant: Claimant, host: string) {
      for await (const holdings of holdingsAt(hostNamePrefixes(host).below))
        for (const holding of holdings) {
          const { isSelf, isDescendant } = await related(claimant, holding)
          if (!isSelf && !isDescendant) return true
        }
      return false
    },
  }
}

export type HostNames = ReturnType<typeof createHostNames>

/** Host names of brands, conferences and realms, compared as one tree. */
export const createHostNames = (deps: DepsOf<'store' | 'settings'>) => {
  const holders = createHolders(deps)

  /** Whether another account has a host that the template derives from this domain. */
  const isDerivedTaken = async (
    claimant: Claimant,
    { host, use }: WantedHost,
    derivedHostsOf: DerivedHostsOf,
  ) => {
    for (const derived of use === 'domain' ? await derivedHostsOf(host) : [])
      if (derived !== host && isTakenBy('derived', await holders.of(claimant, derived))) return true
    return false
  }

  const isTakenAbove = async (
    claimant: Claimant,
    { host, use }: WantedHost,
    derivedHostsOf: DerivedHostsOf,
  ) => {
    for (const above of namesAbove(host)) {
      const held = await holders.of(claimant, above)
      if (held.length === 0) continue
      // An account below the owner may have the same name: it owns nothing below it.
      if (!held.some(({ isSelf, isAncestor }) => isSelf || isAncestor)) return true
      const derived = held
        .filter((one) => one.use === 'domain')
        .map((one): Held => ({ ...one, use: 'derived' }))
      if (isTakenBy(use, derived) && (await derivedHostsOf(above)).includes(host)) return true
    }
    return false
  }

  /** Whether another account has the name, one above it or one below it. The master account is an ancestor of all accounts. */
  const isTaken = async (claimant: Claimant, wanted: WantedHost, derivedHostsOf: DerivedHostsOf) => {
    const held = await holders.of(claimant, wanted.host)
    if (isTakenBy(wanted.use, held)) return true
    if (await isDerivedTaken(claimant, wanted, derivedHostsOf)) return true
    if (await isTakenAbove(claimant, wanted, derivedHostsOf)) return true
    // An account above that has the same name, or the master account, owns the names below it.
    const isOwnedAbove = claimant.tree.length === 0 || held.some(({ isAncestor }) => isAncestor)
    return !isOwnedAbove && !wanted.mayBeAbove && holders.areStrangersBelow(claimant, wanted.host)
  }

  const operatorHosts = async ({ use, isConfirmed }: WantedHostName) => {
    const { public_hosts: hosts, recovery_ui_hosts: others } = await deps.settings.of(crossbarSettings)
    return {
      own: [...hosts, ...others.filter((host) => host !== '*')],
      // Realms of customers are generated below the operator's names.
      parents: use === 'realm' || isConfirmed ? [] : hosts,
    }
  }

  /** Why an account may not have these names. Texts that are not host names are skipped: the caller validates the form. */
  const problems = async (
    claimant: Claimant,
    wanted: readonly WantedHostName[],
    derivedHostsOf: DerivedHostsOf = async () => [],
  ): Promise<Problems> => {
    const isMaster = claimant.tree.length === 0
    const found: Problems = {}
    for (const one of wanted) {
      const { path, text, use } = one
      const host = hostNameOf(text)
      if (host === undefined) continue
      const hosts = isMaster ? { own: [], parents: [] } : await operatorHosts(one)
      const reservation = reservationOf(host, use, hosts)
      if (reservation) found[path] = reservationProblem(reservation, text)
      else if (await isTaken(claimant, { ...one, host }, derivedHostsOf)) found[path] = takenProblem(text)
    }
    return found
  }

  return {
    /** The accounts that have a host name, in batches; one of several names may come several times. */
    async *holders(signal: AbortSignal): AsyncGenerator<readonly string[]> {
      for await (const holdings of holders.holdingsAt('')) {
        if (signal.aborted) return
        yield [...new Set(holdings.map(({ accountId }) => accountId))]
      }
    },

    problems,

    /** Why an account may not have this SIP realm, also its form. */
    async realmProblems(claimant: Claimant, path: string, text: string): Promise<Problems> {
      const found = await problems(claimant, [{ path, text, use: 'realm' }])
      if (Object.keys(found).length > 0 || isPlainHostName(text)) return found
      return { [path]: realmFormProblem(text) }
    },
  }
}
