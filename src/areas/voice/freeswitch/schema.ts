import type { Static } from 'typebox'
import { anyText, multiline, must, open } from '../../../lib/schema.ts'

export const SwitchQuestion = open(
  {
    section: must(anyText({ description: '`directory`, `dialplan` or `configuration`' })),
    action: anyText({ description: 'directory: the purpose. `sip_auth`: a phone signs in' }),
    user: anyText({ description: 'directory: the SIP user name' }),
    domain: anyText({ description: 'directory: the realm' }),
    ip: anyText({ description: 'directory: the source address of the packet' }),
    sip_user_agent: anyText({ description: 'directory: the user agent' }),
    'Caller-Context': anyText({ description: 'dialplan: `crosspoint` or `public`' }),
    'Caller-Destination-Number': anyText({ description: 'dialplan: the dialed number' }),
    'Caller-Caller-ID-Number': anyText({ description: 'dialplan: the number that the caller states' }),
    'Caller-Network-Addr': anyText({ description: 'dialplan: the source address of the call' }),
    variable_sip_network_port: anyText({ description: 'dialplan: the source port' }),
    variable_sip_authorized: anyText({ description: 'dialplan: `true` when the caller has signed in' }),
    variable_user_name: anyText({ description: 'dialplan: the user name' }),
    variable_domain_name: anyText({ description: 'dialplan: the realm' }),
    variable_sip_from_host: anyText({
      description: 'dialplan: the realm that an unauthenticated caller states',
    }),
    variable_sip_user_agent: anyText({ description: 'dialplan: the user agent of the caller' }),
  },
  { ...multiline, title: 'Question of FreeSWITCH' },
)
export type SwitchQuestion = Static<typeof SwitchQuestion>
