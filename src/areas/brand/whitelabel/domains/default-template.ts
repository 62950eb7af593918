import type { Template } from './rules.ts'

// What is shown until a system administrator has said what resellers really have to set up. The addresses and vendor
// hosts lead nowhere on purpose.

const zones = [
  { zone: 'us-east', side: 'east', name: 'Primary Proxy' },
  { zone: 'us-central', side: 'central', name: 'Secondary Proxy' },
  { zone: 'us-west', side: 'west', name: 'Tertiary Proxy' },
] as const

const hostOf = (zone: string) => `${zone}.{{domain}}`
const proxyOf = (side: string) => `proxy-${side}.{{domain}}`

const addresses = Object.fromEntries(
  zones.map(({ zone, name }) => [hostOf(zone), { name, zone, mapping: ['127.0.0.1'] }]),
)

const pointers = Object.fromEntries(
  zones.map(({ side, name }) => [
    proxyOf(side),
    { name, mapping: [`10 100 "S" "SIP+D2U" "" _sip._udp.${proxyOf(side)}`] },
  ]),
)

/** The proxy of a zone, and behind it those of the others. */
const services = Object.fromEntries(
  zones.map(({ side, name }, at) => {
    const order = [...zones.slice(at), ...zones.slice(0, at)]
    const mapping = order.map(({ zone }, rank) => {
      const weight = 10 + 5 * rank
      return `${weight} ${weight} 7000 ${hostOf(zone)}`
    })
    return [`_sip._udp.${proxyOf(side)}`, { name, mapping }]
  }),
)

export const defaultTemplate: Template = {
  A: addresses,
  CNAME: {
    'api.{{domain}}': { name: 'API', mapping: ['api.example.com'] },
    'portal.{{domain}}': { name: 'Web GUI', mapping: ['portal.example.com'] },
  },
  MX: {},
  NAPTR: pointers,
  SRV: services,
  TXT: {},
}
