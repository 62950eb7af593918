import { formatAddress, parseAddress } from '../../../../lib/cidr.ts'
import type { DomainChecks } from './schema.ts'

/** Hosts by record type. Settings may lack parts of an entry. */
export type DnsTemplate = Record<string, Record<string, { mapping?: string[]; name?: string; zone?: string }>>

export interface DnsTemplateEntry {
  /** Upper case, as in the template. */
  type: string
  host: string
  expected: readonly string[]
  name: string
  zone?: string
}

export const placeholder = '{{domain}}'

export const inPlace = (text: string, domain: string) => text.replaceAll(placeholder, domain)

/** Other members of entries stay. */
export const expand = (template: DnsTemplate, domain: string): DnsTemplate =>
  Object.fromEntries(
    Object.entries(template).map(([type, hosts]) => [
      type,
      Object.fromEntries(
        Object.entries(hosts).map(([host, entry]) => [
          inPlace(host, domain),
          { ...entry, mapping: (entry.mapping ?? []).map((text) => inPlace(text, domain)) },
        ]),
      ),
    ]),
  )

export const entriesOf = (domains: DnsTemplate): DnsTemplateEntry[] =>
  Object.entries(domains).flatMap(([type, hosts]) =>
    Object.entries(hosts).map(([host, { mapping = [], name = '', zone }]) => ({
      type,
      host,
      expected: mapping,
      name,
      ...(zone === undefined ? {} : { zone }),
    })),
  )

const testable = ['A', 'AAAA', 'CNAME', 'MX', 'NAPTR', 'SRV', 'TXT'] as const
type TestableType = (typeof testable)[number]

/** Templates write CNAM for CNAME. */
export const testableType = (type: string): TestableType | undefined =>
  type === 'CNAM' ? 'CNAME' : testable.find((known) => known === type)

const plainAddress = (text: string) => {
  const address = parseAddress(text.trim())
  return address ? formatAddress(address) : text.trim().toLowerCase()
}

/** Spacing, case and a final dot do not matter. */
const plainLine = (text: string) => text.trim().replace(/\s+/g, ' ').replace(/\.$/, '').toLowerCase()

/** Ignores a preference before the host: DNS lookups return only hosts. */
const plainExchange = (text: string) => plainLine(text).replace(/^\d+ /, '')

const plainForms: Readonly<Record<TestableType, (text: string) => string>> = {
  A: plainAddress,
  AAAA: plainAddress,
  CNAME: plainLine,
  MX: plainExchange,
  NAPTR: plainLine,
  SRV: plainLine,
  // Keys and tokens are exact.
  TXT: (text) => text,
}

/** In any order. TXT records may have other texts in addition. Without expected values nothing is set up. */
export const matches = (type: TestableType, expected: readonly string[], actual: readonly string[]) => {
  const plain = plainForms[type]
  const wanted = new Set(expected.map(plain))
  const found = new Set(actual.map(plain))
  const isThere = wanted.size > 0 && [...wanted].every((text) => found.has(text))
  return isThere && (type === 'TXT' || [...found].every((text) => wanted.has(text)))
}

const tagsIn = (text: string): Record<string, string> =>
  Object.fromEntries(
    text.split(';').flatMap((part) => {
      const mark = part.indexOf('=')
      const tag = part.slice(0, Math.max(0, mark)).trim()
      return /^[a-z][a-z0-9_]*$/i.test(tag) ? [[tag.toLowerCase(), part.slice(mark + 1).trim()]] : []
    }),
  )

/** The algorithm defaults to RSA; spaces in the key do not count. */
export const holdsKey = (text: string, key: { type: string; publicKey: string }) => {
  const { v = 'DKIM1', k = 'rsa', p = '' } = tagsIn(text)
  return v === 'DKIM1' && k.toLowerCase() === key.type && p.replace(/\s/g, '') === key.publicKey
}

export const spfRecordsIn = (texts: readonly string[]) => texts.filter((text) => /^v=spf1(?: |$)/i.test(text))

const plainTerm = (term: string) => term.toLowerCase().replace(/^\+/, '')

/** Nested includes are not followed. */
export const holdsMechanisms = (record: string, mechanisms: readonly string[]) => {
  const terms = new Set(record.split(/\s+/).map(plainTerm))
  return mechanisms.every((mechanism) => terms.has(plainTerm(mechanism)))
}

const checkedIn = (checks: DomainChecks) =>
  Object.entries(checks).flatMap(([type, hosts]) =>
    Object.entries(hosts).map(([host, check]) => ({ ...check, type, host, key: `${type} ${host}` })),
  )

/** Matching records. Those without an answer from DNS stay as before. */
export const greenIn = (checks: DomainChecks, before: readonly string[]): string[] =>
  checkedIn(checks)
    .filter(({ matches, error, key }) => matches || (error !== undefined && before.includes(key)))
    .map(({ key }) => key)

/** Records that matched before and no longer do. */
export const redIn = (checks: DomainChecks, before: readonly string[]) =>
  checkedIn(checks)
    .filter(({ matches, error, key }) => !matches && error === undefined && before.includes(key))
    .map(({ type, host, expected, actual }) => ({ type, host, expected, actual }))
