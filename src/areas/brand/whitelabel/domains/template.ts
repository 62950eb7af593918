import type { Settings } from '../../../../settings/settings.ts'
import { whitelabelSettings } from '../settings.ts'
import { type DnsTemplate, type DnsTemplateEntry, entriesOf, expand, inPlace, placeholder } from './rules.ts'

// Used until an administrator writes a template. The addresses and vendor hosts lead nowhere on purpose.

const zones = [
  { zone: 'us-east', side: 'east', name: 'Primary Proxy' },
  { zone: 'us-central', side: 'central', name: 'Secondary Proxy' },
  { zone: 'us-west', side: 'west', name: 'Tertiary Proxy' },
] as const

const zoneHost = (zone: string) => `${zone}.{{domain}}`
const proxyOf = (side: string) => `proxy-${side}.{{domain}}`

const addresses = Object.fromEntries(
  zones.map(({ zone, name }) => [zoneHost(zone), { name, zone, mapping: ['127.0.0.1'] }]),
)

const pointers = Object.fromEntries(
  zones.map(({ side, name }) => [
    proxyOf(side),
    { name, mapping: [`10 100 "S" "SIP+D2U" "" _sip._udp.${proxyOf(side)}`] },
  ]),
)

/** The proxy of a zone, then those of the other zones. */
const serviceEntries = Object.fromEntries(
  zones.map(({ side, name }, at) => {
    const order = [...zones.slice(at), ...zones.slice(0, at)]
    const mapping = order.map(({ zone }, rank) => {
      const weight = 10 + 5 * rank
      return `${weight} ${weight} 7000 ${zoneHost(zone)}`
    })
    return [`_sip._udp.${proxyOf(side)}`, { name, mapping }]
  }),
)

const defaultTemplate: DnsTemplate = {
  A: addresses,
  CNAME: {
    'api.{{domain}}': { name: 'API', mapping: ['api.example.com'] },
    'portal.{{domain}}': { name: 'Web GUI', mapping: ['portal.example.com'] },
  },
  MX: {},
  NAPTR: pointers,
  SRV: serviceEntries,
  TXT: {},
}

// Record types that lead browsers to a host.
const addressTypes: ReadonlySet<string> = new Set(['A', 'AAAA', 'CNAME', 'CNAM'])

export type DomainTemplate = ReturnType<typeof createDomainTemplate>

/** The operator's template. */
export const createDomainTemplate = (settings: Settings) => {
  const whole = async (): Promise<DnsTemplate> => {
    const { domains = {} } = await settings.of(whitelabelSettings)
    return Object.keys(domains).length > 0 ? domains : defaultTemplate
  }

  const addressesOf = async (domain: string): Promise<DnsTemplateEntry[]> =>
    entriesOf(expand(await whole(), domain)).filter(({ type }) => addressTypes.has(type))

  return {
    whole,
    addressesOf,

    /** Hosts that the template derives from the domain and browsers can reach. A fixed host belongs to no brand. */
    hostsOf: async (domain: string): Promise<string[]> =>
      (await addressesOf(placeholder))
        .filter(({ host }) => host.includes(placeholder))
        .map(({ host }) => inPlace(host, domain).toLowerCase()),
  }
}
