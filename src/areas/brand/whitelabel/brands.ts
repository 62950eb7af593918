import { type AccountRecord, type Actor, accountKind, isSuperduper } from '../../../auth/identity.ts'
import type { Clock } from '../../../lib/clock.ts'
import { badIdentifier, failure } from '../../../lib/failure.ts'
import { evictOldest } from '../../../lib/forget-oldest.ts'
import { hostNameOf } from '../../../lib/host-name.ts'
import { present } from '../../../lib/json.ts'
import type { Accounts } from '../../accounts/accounts/operations.ts'
import type { DepsOf } from '../../area.ts'
import type { WhitelabelDomainChecks } from './domains/operations.ts'
import type { BrandFiles } from './files/operations.ts'
import type { Whitelabels } from './operations.ts'
import { domainOf, nearest } from './rules.ts'
import type { WhitelabelStored } from './store.ts'

interface Deps extends DepsOf<'store'> {
  whitelabels: Pick<Whitelabels, 'find'>
  files: Pick<BrandFiles, 'find'>
}

const printableTypes = new Set(['image/png', 'image/jpeg'])

/** Name and logo for printed documents, of the nearest brand. */
export const createBrands =
  ({ store, whitelabels, files }: Deps) =>
  async (accountId: string): Promise<{ name?: string; logo?: Uint8Array }> => {
    const account = await store.records.find(accountId, accountKind, accountId)
    const brand = account && (await nearest(account, whitelabels.find))
    if (!brand) return {}
    const logo = await files.find(brand.accountId, 'logo')
    const isPrintable = logo !== undefined && printableTypes.has(logo.contentType)
    return present({ name: brand.doc.company_name || undefined, logo: isPrintable ? logo.bytes : undefined })
  }

interface PortalDeps {
  whitelabels: Pick<Whitelabels, 'find'>
  domains: Pick<WhitelabelDomainChecks, 'isSetUp' | 'portalsOf'>
}

/** The sign-in page of an account: at the nearest brand whose DNS is set up. */
export const createPortals =
  ({ whitelabels, domains }: PortalDeps) =>
  (account: AccountRecord): Promise<string | undefined> =>
    nearest(account, async (accountId) => {
      const domain = hostNameOf((await whitelabels.find(accountId))?.doc.domain ?? '')
      if (domain === undefined) return undefined
      for (const host of await domains.portalsOf(domain)) if (await domains.isSetUp(domain, host)) return host
      return undefined
    })

interface VisibilityDeps {
  clock: Clock
  accounts: Pick<Accounts, 'find'>
  whitelabels: Pick<Whitelabels, 'byDomain'>
  domains: Pick<WhitelabelDomainChecks, 'matchesTemplate'>
}

// How long the result of a DNS check is cached, in ms.
const setUpMs = 600_000
const notSetUpMs = 60_000
const maxCachedChecks = 2000

export type BrandVisibility = ReturnType<typeof createBrandVisibility>

/**
 * Strangers see a brand if its DNS matches the operator's template, or the operator has confirmed the host. The brand's
 * account, and the accounts below and above it, always see the brand.
 */
export const createBrandVisibility = ({ clock, accounts, whitelabels, domains }: VisibilityDeps) => {
  /** `until`: Unix milliseconds. */
  const known = new Map<string, { isSetUp: boolean; until: number }>()
  const looking = new Map<string, Promise<boolean>>()

  const lookUp = async (key: string, domain: string, host: string | undefined) => {
    const found = await domains.matchesTemplate(domain, host)
    // If DNS does not answer, the earlier result applies.
    const isSetUp = found ?? known.get(key)?.isSetUp ?? false
    known.delete(key)
    known.set(key, { isSetUp, until: clock.now() + (found ? setUpMs : notSetUpMs) })
    evictOldest(known, maxCachedChecks)
    return isSetUp
  }

  /** Whether a host of a domain, or any of its hosts, is set up. Concurrent visitors share one look-up. */
  const isSetUp = (domain: string, host?: string): Promise<boolean> => {
    const key = `${domain} ${host ?? ''}`
    const found = known.get(key)
    if (found && found.until > clock.now()) return Promise.resolve(found.isSetUp)
    const under = looking.get(key) ?? lookUp(key, domain, host).finally(() => looking.delete(key))
    looking.set(key, under)
    return under
  }

  const isShown = async ({ doc, hidden }: WhitelabelStored, host: string) => {
    if (hidden.confirmedHosts?.includes(host)) return true
    const domain = domainOf(doc)
    // The template may derive a conference host from the domain, or it has records like a domain.
    if (domain !== undefined && domain !== host && (await isSetUp(domain, host))) return true
    return isSetUp(host)
  }

  const isRelated = async (visitor: Actor, accountId: string) => {
    const { account } = visitor
    if (account.id === accountId || account.hidden.tree.includes(accountId)) return true
    if (isSuperduper(visitor)) return true
    return (await accounts.find(accountId))?.hidden.tree.includes(account.id) === true
  }

  return {
    /** The brand at a host. A stranger gets a 404 while the brand is not shown. */
    async at(domain: string, visitor: Actor | undefined): Promise<WhitelabelStored> {
      const record = await whitelabels.byDomain(domain)
      const host = hostNameOf(domain) ?? ''
      if (visitor && (await isRelated(visitor, record.accountId))) return record
      if (await isShown(record, host)) return record
      throw failure(badIdentifier, { cause: domain.slice(0, 256) })
    },
  }
}
