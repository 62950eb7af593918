import { Type } from 'typebox'
import { section, settingsDocument, wholeNumber } from '../../../settings/keys.ts'
import { WhitelabelDomains } from './domains/schema.ts'

const whitelabel = section('DNS records of resellers', {
  domains: Type.Optional({
    ...WhitelabelDomains,
    description:
      'DNS records that a reseller must set up, by type, then by host; {{domain}} is the domain of the reseller. Absent: a built-in template',
  }),
  check_domains_hours: wholeNumber(
    { unit: 'hours', default: 24, minimum: 0, maximum: 744 },
    'Interval of the DNS check of each brand; a wrong record emits the event domain.failed; 0: no check',
  ),
  spf_mechanisms: Type.Array(Type.String({ maxLength: 256 }), {
    default: [],
    maxItems: 20,
    description:
      'Mechanisms that the SPF record of a sender must have, so that receivers accept its email from this server',
  }),
})

export const whitelabelSettings = settingsDocument('whitelabel', whitelabel)
