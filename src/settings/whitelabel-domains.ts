import type { Static } from 'typebox'
import { anyText, closed, keyed, keyedBy, list, must, open } from '../lib/schema.ts'

// A check looks every one of them up: nobody sets up hundreds of records.
const mostHosts = 100
const mostTypes = 16

const mapping = list(anyText({ maxLength: 1024 }), {
  minItems: 1,
  maxItems: 50,
  description: 'Addresses, host names, or lines of NAPTR and SRV records; may hold {{domain}}',
})
const name = anyText({ maxLength: 256, description: 'Friendly name' })

const Entry = open({
  mapping: list(anyText({ maxLength: 1024 }), { maxItems: 50 }),
  name,
  zone: anyText({ maxLength: 256, description: 'For people only' }),
})

const Alias = closed({ mapping: must(mapping), name: must(name) })

const Hosts = keyed(Entry, { maxProperties: mostHosts })

/** DNS records that a reseller has to set up: by type, then by host. `{{domain}}` stands for the reseller's domain. */
export const WhitelabelDomains = open(
  {
    A: Hosts,
    AAAA: Hosts,
    CNAM: Hosts,
    CNAME: keyedBy('\\{\\{domain\\}\\}', Alias, { maxProperties: mostHosts }),
    MX: Hosts,
    NAPTR: Hosts,
    SRV: Hosts,
    TXT: Hosts,
  },
  { title: 'Whitelabel domains', additionalProperties: Hosts, maxProperties: mostTypes },
)
export type WhitelabelDomains = Static<typeof WhitelabelDomains>
