import type { Static } from 'typebox'
import { anyText, closed, flag, keyed, keyedBy, list, must, open } from '../../../../lib/schema.ts'

// A check looks each of them up.
const maxHosts = 100
const maxTypes = 16

const mapping = list(anyText({ maxLength: 1024 }), {
  minItems: 1,
  maxItems: 50,
  description: 'Addresses, host names, or lines of NAPTR and SRV records; may hold {{domain}}',
})
const entryName = anyText({ maxLength: 256, description: 'Friendly name' })
const zone = anyText({ maxLength: 256, description: 'For people only' })

const HostEntry = open({
  mapping: list(anyText({ maxLength: 1024 }), { maxItems: 50 }),
  name: entryName,
  zone,
})

const Alias = closed({ mapping: must(mapping), name: must(entryName), zone })

const Hosts = keyed(HostEntry, { maxProperties: maxHosts })

/** Shown, but not looked up. */
const otherTypes = [
  'LOC',
  'CAA',
  'DNAME',
  'DNSKEY',
  'DS',
  'HTTPS',
  'NS',
  'PTR',
  'SPF',
  'SSHFP',
  'SVCB',
  'TLSA',
  'URI',
]

/** By type, then by host. `{{domain}}` stands for the reseller's domain. */
export const WhitelabelDomains = closed(
  {
    A: Hosts,
    AAAA: Hosts,
    CNAM: Hosts,
    CNAME: keyedBy('\\{\\{domain\\}\\}', Alias, { maxProperties: maxHosts }),
    MX: Hosts,
    NAPTR: Hosts,
    SRV: Hosts,
    TXT: Hosts,
    ...Object.fromEntries(otherTypes.map((type) => [type, Hosts])),
  },
  { title: 'Whitelabel domains', maxProperties: maxTypes },
)
export type WhitelabelDomains = Static<typeof WhitelabelDomains>

export const ExpandedDomains = keyed(
  keyed(open({ mapping: must(list(anyText())), name: anyText(), zone: anyText() })),
  { title: 'Expanded whitelabel domains', description: 'By record type, then by host' },
)

const error = anyText({ description: 'Reason why the look-up failed; absent if DNS responded' })

const DomainCheck = open({
  expected: must(list(anyText())),
  actual: must(list(anyText(), { description: 'Found in DNS' })),
  name: must(anyText({ description: 'Friendly name' })),
  matches: must(flag({ description: 'Whether DNS has the expected values' })),
  error,
  zone: anyText(),
})
export type DomainCheck = Static<typeof DomainCheck>

export const DomainChecks = keyed(keyed(DomainCheck), {
  title: 'Domain checks',
  description: 'By record type, then by host',
})
export type DomainChecks = Static<typeof DomainChecks>

/** In the metadata of a check. */
export const SenderCheck = open({
  id: must(anyText()),
  email: must(anyText()),
  verified: must(flag()),
  dkim: open(
    {
      name: must(anyText()),
      expected: must(anyText()),
      actual: must(list(anyText())),
      matches: must(flag({ description: 'Whether receivers will find the public half of the key' })),
      error,
    },
    { description: 'Absent without a selector and a key' },
  ),
  spf: must(
    open({
      name: must(anyText()),
      actual: must(list(anyText(), { description: 'SPF records' })),
      valid: must(flag({ description: 'Whether there is exactly one' })),
      permits: flag({
        description: 'Whether it holds what the setting `whitelabel.spf_mechanisms` asks for; absent without',
      }),
      error,
    }),
  ),
})
export type SenderCheck = Static<typeof SenderCheck>
