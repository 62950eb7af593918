import { Type } from 'typebox'
import { section, settingsDocument, wholeNumber } from '../../../settings/keys.ts'
import { WhitelabelDomains } from './domains/schema.ts'

const whitelabel = section('What resellers set up in DNS', {
  domains: Type.Optional({
    ...WhitelabelDomains,
    description:
      'DNS records that a reseller has to set up: by type, then by host; {{domain}} stands for the reseller’s domain. Absent: a built-in template is shown',
  }),
  check_domains_hours: wholeNumber(
    { unit: 'hours', default: 24, minimum: 0, maximum: 744 },
    'How often the DNS records of each brand are looked up, so that a record that became wrong is reported (domain.failed); 0: never',
  ),
  spf_mechanisms: Type.Array(Type.String({ maxLength: 256 }), {
    default: [],
    maxItems: 20,
    description:
      'Required content of a sender’s SPF record, so that receivers accept its email from this server',
  }),
})

export const whitelabelSettings = settingsDocument('whitelabel', whitelabel)
