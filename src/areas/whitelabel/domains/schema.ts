import type { Static } from 'typebox'
import { anyText, flag, keyed, list, must, open } from '../../../lib/schema.ts'

/** The template with a domain in its place. */
export const ExpandedDomains = keyed(
  keyed(open({ mapping: must(list(anyText())), name: anyText(), zone: anyText() })),
  { title: 'Expanded whitelabel domains', description: 'By record type, then by host' },
)

const error = anyText({ description: 'Why nothing could be looked up; absent when DNS has answered' })

/** What DNS holds for one host, beside what it should hold. */
const DomainCheck = open({
  expected: must(list(anyText())),
  actual: must(list(anyText(), { description: 'Found in DNS' })),
  name: must(anyText({ description: 'Friendly name' })),
  matches: must(flag({ description: 'Whether DNS holds what it should' })),
  error,
  zone: anyText(),
})
export type DomainCheck = Static<typeof DomainCheck>

export const DomainChecks = keyed(keyed(DomainCheck), {
  title: 'Domain checks',
  description: 'By record type, then by host',
})
export type DomainChecks = Static<typeof DomainChecks>

/** What DNS says for one sender address. Stands in the metadata of a check. */
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
