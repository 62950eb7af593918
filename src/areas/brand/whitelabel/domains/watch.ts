import { hash } from 'node:crypto'
import type { ScheduledJob } from '../../../../jobs/scheduler.ts'
import { inParallel } from '../../../../lib/in-parallel.ts'
import { createAttachment } from '../../../../storage/attachment.ts'
import { type Author, ChangeSet } from '../../../../storage/change-set.ts'
import { holderOf } from '../../../../storage/records.ts'
import { retrying, type Store } from '../../../../storage/store.ts'
import type { DepsOf } from '../../../area.ts'
import type { Whitelabels } from '../operations.ts'
import { domainOf } from '../rules.ts'
import { whitelabelSettings } from '../settings.ts'
import { domainClaim, type WhitelabelStored, whitelabelId } from '../store.ts'
import { greenIn, redIn } from './rules.ts'
import type { DomainChecks } from './schema.ts'

/** Matching records of the last check of a brand. Removed with the brand. */
export const createDomainStatuses = (store: Store) =>
  createAttachment<{ domain: string; green: readonly string[] }>(store, 'domain_checks')

export type DomainStatuses = ReturnType<typeof createDomainStatuses>

interface FoundChecks {
  accountId: string
  domain: string
  checks: DomainChecks
}

interface Deps extends DepsOf<'store' | 'settings' | 'afterwards'> {
  whitelabels: Pick<Whitelabels, 'find'>
  standings: DomainStatuses
  look(domain: string): Promise<DomainChecks>
}

const hourMs = 3_600_000
const hourSeconds = 3600
const domainsAtOnce = 4
const perPage = 100

/** The hour in which a domain is checked, so that checks are spread. */
const turnOf = (domain: string, hours: number) =>
  Number.parseInt(hash('sha256', domain).slice(0, 8), 16) % hours

/** Records the results of checks, and reports records that no longer match. */
export const createDomainWatch = ({ store, settings, afterwards, whitelabels, standings, look }: Deps) => {
  const { clock, records } = store

  const keep = async (author: Author, { accountId, domain, checks }: FoundChecks) => {
    const brand = await whitelabels.find(accountId)
    if (!brand || domainOf(brand.doc) !== domain) return
    const before = await standings.find(brand)
    const wasGreen = before?.doc.domain === domain ? before.doc.green : []
    const failed = redIn(checks, wasGreen)
    const green = greenIn(checks, wasGreen)
    if (failed.length === 0 && green.length === wasGreen.length) return
    const set = new ChangeSet(author)
    standings.put(set, holderOf(brand), before, { domain, green })
    const after = JSON.stringify({ domain, failed })
    if (failed.length > 0)
      set.happened({ accountId, type: 'domain.failed', kind: 'whitelabel', id: whitelabelId, after })
    await store.commit(set)
  }

  const note = (author: Author, found: FoundChecks) => retrying(() => keep(author, found))

  const watch = async ({ accountId, doc }: WhitelabelStored) => {
    const domain = domainOf(doc)
    if (domain !== undefined)
      await note({ requestId: 'domain_checks' }, { accountId, domain, checks: await look(domain) })
  }

  /** The brands of a page that are due, and the start of the next page. */
  const pageOf = async (after: string, hours: number) => {
    const { scope, name } = domainClaim('')
    const holders = await records.claimants(scope, name, '', perPage, after)
    const found = await Promise.all(holders.map(({ accountId }) => whitelabels.find(accountId)))
    const brands = found.filter((brand) => brand !== undefined)
    const last = brands.at(-1)
    const hour = Math.floor(clock.now() / hourMs)
    const isTurn = ({ doc }: WhitelabelStored) => turnOf(domainOf(doc) ?? '', hours) === hour % hours
    return {
      brands: brands.filter(isTurn),
      next: last && holders.length === perPage ? domainOf(last.doc) : undefined,
    }
  }

  const checkingJob: ScheduledJob = {
    name: 'whitelabel domains',
    everySeconds: hourSeconds,
    async run(signal) {
      const { check_domains_hours: hours } = await settings.of(whitelabelSettings)
      if (hours === 0) return
      for (let after: string | undefined = ''; after !== undefined && !signal.aborted; ) {
        const page: Awaited<ReturnType<typeof pageOf>> = await pageOf(after, hours)
        await inParallel(page.brands, domainsAtOnce, watch, () => signal.aborted)
        after = page.next
      }
    },
  }

  return {
    checkingJob,

    note(author: Author, found: FoundChecks) {
      afterwards.run('storing the state of a domain', () => note(author, found))
    },
  }
}
