import { DnsFault } from '../../../../dns/exchange.ts'
import type { LookUp, LookUpOptions } from '../../../../dns/resolver.ts'
import { failure, invalid, invalidData, tooManyRequests } from '../../../../lib/failure.ts'
import { hostNameOf } from '../../../../lib/host-name.ts'
import { present } from '../../../../lib/json.ts'
import { zip } from '../../../../lib/list.ts'
import type { Author } from '../../../../storage/change-set.ts'
import type { DepsOf } from '../../../area.ts'
import type { SystemConfigs } from '../../../system/system-configs/operations.ts'
import type { SenderAddress } from '../emails/senders.ts'
import type { Whitelabels } from '../operations.ts'
import { whitelabelSettings } from '../settings.ts'
import {
  type DnsTemplate,
  type DnsTemplateEntry,
  entriesOf,
  expand,
  holdsKey,
  holdsMechanisms,
  matches,
  spfRecordsIn,
  testableType,
} from './rules.ts'
import type { DomainCheck, DomainChecks, SenderCheck } from './schema.ts'
import type { DomainTemplate } from './template.ts'
import { createDomainWatch, type DomainStatuses } from './watch.ts'

interface Deps extends DepsOf<'store' | 'afterwards' | 'settings' | 'dns'> {
  systemConfigs: SystemConfigs
  whitelabels: Whitelabels
  standings: DomainStatuses
  template: DomainTemplate
  senders: { addressesOf(accountId: string): Promise<SenderAddress[]> }
}

// A web page waits for the result.
const checkMs = 5000
const authorityMs = 1500

// Checks of unreachable name servers use all their time, and all accounts share the lookups of the process.
const maxChecks = 3

interface Inquiry {
  domain: string
  options: LookUpOptions
}

const wrongDomain = (value: string) =>
  invalid({
    domain: {
      wrong_format: { message: 'Must be a host name', format: 'hostname', value: value.slice(0, 256) },
    },
  })

const isPortal = ({ name }: DnsTemplateEntry) => /^web (?:gui|interface|portal)$/i.test(name.trim())

const createDnsChecks = ({ dns, settings }: Pick<Deps, 'dns' | 'settings'>) => {
  const lookUp = async (question: LookUp, { domain, options }: Inquiry) => {
    const { authorities, ...others } = options
    const isOwn = question.name === domain || question.name.endsWith(`.${domain}`)
    try {
      return { actual: await dns.lookUp(question, isOwn ? options : others) }
    } catch (error) {
      if (error instanceof DnsFault) return { actual: [], error: error.message }
      throw error
    }
  }

  const checkKey = async ({ dkim }: SenderAddress, inquiry: Inquiry): Promise<Pick<SenderCheck, 'dkim'>> => {
    if (!dkim) return {}
    const name = `${dkim.selector}._domainkey.${dkim.domain ?? inquiry.domain}`
    const found = await lookUp({ name, type: 'TXT' }, inquiry)
    const isThere = found.actual.some((text) => holdsKey(text, dkim))
    return { dkim: { name, expected: dkim.record, ...found, matches: isThere } }
  }

  const checkPolicy = async ({ email }: SenderAddress, inquiry: Inquiry): Promise<SenderCheck['spf']> => {
    const name = hostNameOf(email.slice(email.lastIndexOf('@') + 1)) ?? ''
    const { actual: texts, ...rest } = await lookUp({ name, type: 'TXT' }, inquiry)
    const actual = spfRecordsIn(texts)
    const [record = ''] = actual
    const { spf_mechanisms: mechanisms } = await settings.of(whitelabelSettings)
    const valid = actual.length === 1
    const permits = mechanisms.length > 0 ? valid && holdsMechanisms(record, mechanisms) : undefined
    return { name, actual, valid, ...present({ permits }), ...rest }
  }

  return {
    async begin(domain: string, tcp: boolean): Promise<Inquiry> {
      const signal = AbortSignal.timeout(checkMs)
      const early = AbortSignal.any([signal, AbortSignal.timeout(authorityMs)])
      const authorities = await dns.authoritiesOf(domain, { tcp: false, signal: early })
      return { domain, options: { tcp, signal, authorities } }
    },

    async checkEntry(
      { type, host, expected, name, zone }: DnsTemplateEntry,
      inquiry: Inquiry,
    ): Promise<DomainCheck> {
      const shown = { expected: [...expected], name, ...present({ zone }) }
      const asked = testableType(type)
      if (!asked)
        return { ...shown, actual: [], matches: false, error: `records of type ${type} are not looked up` }
      const found = await lookUp({ name: host.toLowerCase(), type: asked }, inquiry)
      return { ...shown, ...found, matches: !found.error && matches(asked, expected, found.actual) }
    },

    async checkSender(sender: SenderAddress, inquiry: Inquiry): Promise<SenderCheck> {
      const { id, email, verified } = sender
      const [key, spf] = await Promise.all([checkKey(sender, inquiry), checkPolicy(sender, inquiry)])
      return { id, email, verified, ...key, spf }
    },
  }
}

/** Limits concurrent checks of an account. */
const createCheckLimit = () => {
  const checks = new Map<string, number>()
  return async <T>(accountId: string, work: () => Promise<T>): Promise<T> => {
    const running = checks.get(accountId) ?? 0
    if (running >= maxChecks) throw failure(tooManyRequests, { retryAfterSeconds: checkMs / 1000 })
    checks.set(accountId, running + 1)
    try {
      return await work()
    } finally {
      const left = (checks.get(accountId) ?? 1) - 1
      if (left > 0) checks.set(accountId, left)
      else checks.delete(accountId)
    }
  }
}

export type WhitelabelDomainChecks = ReturnType<typeof createWhitelabelDomains>

/** The DNS records of brands, and their checks. */
export const createWhitelabelDomains = (deps: Deps) => {
  const { systemConfigs, whitelabels, senders, template } = deps
  const { begin, checkEntry, checkSender } = createDnsChecks(deps)
  const limited = createCheckLimit()

  /** The requested domain, else the account's. */
  const domainFor = async (asked: unknown, accountId: string | undefined): Promise<string> => {
    const record = accountId === undefined ? undefined : await whitelabels.find(accountId)
    const text = asked === undefined || asked === '' ? record?.doc.domain : asked
    if (!text) {
      throw invalid({ domain: { required: { message: 'Field is required but missing', value: 'domain' } } })
    }
    const domain = hostNameOf(String(text))
    if (domain === undefined) throw wrongDomain(String(text))
    return domain
  }

  const expanded = async (domain: string) => expand(await template.whole(), domain)

  const lookUpAll = async (
    domain: string,
    domains: DnsTemplate,
    own: readonly SenderAddress[],
    tcp: boolean,
  ) => {
    const entries = entriesOf(domains)
    const inquiry = await begin(domain, tcp)
    const [found, senderChecks] = await Promise.all([
      Promise.all(entries.map((entry) => checkEntry(entry, inquiry))),
      Promise.all(own.map((sender) => checkSender(sender, inquiry))),
    ])
    const byType: DomainChecks = Object.fromEntries(Object.keys(domains).map((type) => [type, {}]))
    for (const [{ type, host }, check] of zip(entries, found)) {
      byType[type] = { ...byType[type], [host]: check }
    }
    return { checks: byType, senders: senderChecks }
  }

  /** Whether DNS matches the template at one host, or at any host of the brand. Undefined: no answer from DNS. */
  const matchesTemplate = async (brand: string, host?: string): Promise<boolean | undefined> => {
    const domain = hostNameOf(brand)
    if (domain === undefined) return false
    const isMeant = (entry: DnsTemplateEntry) => host === undefined || entry.host.toLowerCase() === host
    const entries = (await template.addressesOf(domain)).filter(isMeant)
    if (entries.length === 0) return false
    const inquiry = await begin(domain, false)
    const found = await Promise.all(entries.map((entry) => checkEntry(entry, inquiry)))
    if (found.some(({ matches: isThere }) => isThere)) return true
    return found.some(({ error }) => error !== undefined) ? undefined : false
  }

  const watch = createDomainWatch({
    ...deps,
    look: async (domain) => (await lookUpAll(domain, await expanded(domain), [], false)).checks,
  })

  return {
    watch,

    expanded: async (asked: unknown, accountId: string | undefined) =>
      expanded(await domainFor(asked, accountId)),

    async replaceTemplate(author: Author, domains: DnsTemplate): Promise<DnsTemplate> {
      if (Object.keys(domains).length === 0) {
        const message = 'The domains schema is missing, unable to validate request'
        throw failure(invalidData, { data: { domains: { required: { message } } } })
      }
      const subject = await systemConfigs.subject('whitelabel')
      const values = { ...subject.sections.default, domains }
      await systemConfigs.replaceSection(author, subject, 'default', { values, sent: 'changed' })
      return domains
    },

    /** Hosts of the web interface: the domain, and hosts that the template calls a web GUI. */
    async portalsOf(domain: string): Promise<string[]> {
      const isMeant = (entry: DnsTemplateEntry) => entry.host === domain || isPortal(entry)
      const entries = (await template.addressesOf(domain)).filter(isMeant)
      return [...new Set(entries.map(({ host }) => host.toLowerCase()))]
    },

    matchesTemplate,

    /** False also if DNS does not answer. */
    isSetUp: async (brand: string, host: string): Promise<boolean> =>
      (await matchesTemplate(brand, host)) === true,

    /** Checks all records of the domain, and those of its sender addresses. */
    async check(author: Author, asked: unknown, accountId: string, tcp: boolean) {
      const domain = await domainFor(asked, accountId)
      const domains = await expanded(domain)
      const own = await senders.addressesOf(accountId)
      const found = await limited(accountId, () => lookUpAll(domain, domains, own, tcp))
      watch.note(author, { accountId, domain, checks: found.checks })
      return found
    },
  }
}
