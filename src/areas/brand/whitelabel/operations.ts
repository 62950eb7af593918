import { type AccountRecord, type Actor, accountKind, isSuperduper } from '../../../auth/identity.ts'
import { badIdentifier, datastoreConflict, failure, type Problems } from '../../../lib/failure.ts'
import { hostNameOf } from '../../../lib/host-name.ts'
import { isId } from '../../../lib/ids.ts'
import type { Warning } from '../../../settings/unknown-keys.ts'
import type { Attached } from '../../../storage/attachment.ts'
import { type Author, systemScope } from '../../../storage/change-set.ts'
import { holderOf, requireRecord } from '../../../storage/records.ts'
import { committed, type Store } from '../../../storage/store.ts'
import type { DerivedHostsOf, HostNames } from '../../accounts/accounts/host-names/operations.ts'
import { claimantOf, type WantedHostName } from '../../accounts/accounts/host-names/rules.ts'
import type { DepsOf } from '../../area.ts'
import { domainOf, domainPowerProblems, hostsOf, newHostNames, whitelabelProblems } from './rules.ts'
import type { Whitelabel } from './schema.ts'
import {
  conferenceClaimName,
  createWhitelabelStore,
  domainClaim,
  domainTaken,
  type WhitelabelHidden,
  type WhitelabelStored,
  whitelabelId,
} from './store.ts'

interface Deps extends DepsOf<'store'> {
  /** Removed with the settings. */
  attached: readonly Attached[]
  hostNames: HostNames
  derivedHostsOf: DerivedHostsOf
}

// Labels of a host below a brand's domain.
const maxLabels = 8

interface Writer {
  author: Author
  actor: Actor
  /** Whether the operator confirms the hosts. Undefined: those that it adds. */
  confirms: boolean | undefined
}

/** The quantity of services for a brand. */
export const brandCount = ['branding', 'whitelabel'] as const

export type Whitelabels = ReturnType<typeof createWhitelabels>

/** A host that the operator writes or confirms stays confirmed while the settings contain it. */
const hiddenOf = (
  { actor, confirms }: Writer,
  doc: Whitelabel,
  before: WhitelabelStored | undefined,
): WhitelabelHidden => {
  const isOperator = isSuperduper(actor)
  const earlier = before ? hostsOf(before.doc) : []
  const isConfirmed = (host: string) =>
    before?.hidden.confirmedHosts?.includes(host) || (isOperator && !earlier.includes(host))
  const confirmedHosts = hostsOf(doc).filter((host) =>
    isOperator && confirms !== undefined ? confirms : isConfirmed(host),
  )
  return confirmedHosts.length > 0 ? { confirmedHosts } : {}
}

type Brands = ReturnType<typeof createWhitelabelStore>

const brandReads = (whitelabels: Brands, { records }: Store) => {
  const find = (accountId: string) => whitelabels.find(accountId, whitelabelId)

  /** The oldest account with this conference host. */
  const byConferenceDomain = async (host: string) => {
    const [holder] = await records.claimants(systemScope, conferenceClaimName, `${host}/`, 1)
    return holder && find(holder.accountId)
  }

  return {
    find,

    get: (accountId: string) => whitelabels.get(accountId, whitelabelId),

    async *counted(accountId: string): AsyncGenerator<readonly (readonly [string, string])[]> {
      if (await find(accountId)) yield [brandCount]
    },

    /** The settings that visitors of this host see. */
    async byDomain(domain: string): Promise<WhitelabelStored> {
      const host = hostNameOf(domain)
      const found =
        host && ((await whitelabels.holder(domainClaim(host))) ?? (await byConferenceDomain(host)))
      if (!found) throw failure(badIdentifier, { cause: domain.slice(0, 256) })
      return found
    },

    /** The brand of a host: its own, or that of a parent domain. */
    async ofHost(host: string): Promise<WhitelabelStored | undefined> {
      const labels = hostNameOf(host)?.split('.').slice(-maxLabels) ?? []
      for (const at of labels.keys()) {
        const found = await whitelabels.holder(domainClaim(labels.slice(at).join('.')))
        if (found) return found
      }
      return undefined
    },
  }
}

/** Brands: at most one of each account, found by its domain. */
export const createWhitelabels = ({ store, attached, hostNames, derivedHostsOf }: Deps) => {
  const whitelabels = createWhitelabelStore(store)
  const reads = brandReads(whitelabels, store)
  const { records } = store

  const hostProblems = (
    account: AccountRecord,
    wanted: readonly WantedHostName[],
    mayBeAbove: (host: WantedHostName) => boolean,
  ) => {
    const hosts = wanted.map((host) => ({ ...host, mayBeAbove: mayBeAbove(host) }))
    return hostNames.problems(claimantOf(account), hosts, derivedHostsOf)
  }

  const uniqueProblems = async (accountId: string, data: Partial<Whitelabel>): Promise<Problems> => {
    const domain = domainOf(data)
    const holder = domain && (await records.claimant(domainClaim(domain)))
    return holder && holder.accountId !== accountId ? domainTaken(data.domain) : {}
  }

  return {
    ...reads,

    /** Why hosts that an account has belong to another account or to the operator. */
    async conflicts(account: AccountRecord): Promise<Problems> {
      const brand = await reads.find(account.id)
      if (!brand) return {}
      const wanted = newHostNames(brand.doc, undefined, brand.hidden.confirmedHosts ?? [])
      return hostProblems(account, wanted, ({ isConfirmed }) => isConfirmed === true)
    },

    async judge(
      { actor, confirms }: Pick<Writer, 'actor' | 'confirms'>,
      account: AccountRecord,
      data: Partial<Whitelabel>,
      before?: WhitelabelStored,
    ): Promise<Problems> {
      const isOperator = isSuperduper(actor)
      const isConfirmedNow = isOperator && confirms !== false
      const confirmed = isConfirmedNow ? hostsOf(data) : (before?.hidden.confirmedHosts ?? [])
      const wanted = newHostNames(data, before?.doc, confirmed)
      return {
        ...(await hostProblems(account, wanted, () => isOperator && confirms === true)),
        ...(await uniqueProblems(account.id, data)),
        ...whitelabelProblems(data),
        ...domainPowerProblems(actor, data, before?.doc),
      }
    },

    /** Other accounts cannot administer port requests of this one; whether they exist is not disclosed. */
    async warnings(account: AccountRecord, { port }: Whitelabel): Promise<Warning[]> {
      const id = port?.authority
      if (!id || id === account.id || account.hidden.tree.includes(id)) return []
      const named = isId(id) ? await records.find(id, accountKind, id) : undefined
      if (named?.hidden.tree.includes(account.id)) return []
      const message = 'Must be the ID of this account, a parent account or a sub-account'
      return [{ path: 'port.authority', message }]
    },

    async create(writer: Writer, accountId: string, doc: Whitelabel): Promise<WhitelabelStored> {
      if (await reads.find(accountId)) throw failure(datastoreConflict, {})
      const content = { doc, hidden: hiddenOf(writer, doc, undefined) }
      const record = whitelabels.draft(accountId, content, whitelabelId)
      await committed(store, writer.author, (set) => {
        requireRecord(set, { accountId, kind: accountKind, id: accountId })
        whitelabels.insert(set, record)
        set.count(accountId, ...brandCount, 1)
      })
      return record
    },

    async replace(writer: Writer, before: WhitelabelStored, doc: Whitelabel): Promise<WhitelabelStored> {
      const after = whitelabels.revise(before, { doc, hidden: hiddenOf(writer, doc, before) })
      await committed(store, writer.author, (set) => whitelabels.replace(set, before, after))
      return after
    },

    async remove(author: Author, record: WhitelabelStored): Promise<WhitelabelStored> {
      await committed(store, author, async (set) => {
        whitelabels.remove(set, record)
        for (const { removeWith } of attached) await removeWith(set, holderOf(record))
        set.count(record.accountId, ...brandCount, -1)
      })
      return record
    },
  }
}
