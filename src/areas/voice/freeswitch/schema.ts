import type { Static } from 'typebox'
import { anyText, multiline, must, open } from '../../../lib/schema.ts'

export const SwitchQuestion = open(
  {
    section: must(anyText({ description: '`directory`, `dialplan` or `configuration`' })),
    action: anyText({ description: 'directory: the purpose. `sip_auth`: a phone signs in' }),
    user: anyText({ description: 'directory: the SIP user name' }),
    domain: anyText({ description: 'directory: the realm' }),
    ip: anyText({ description: 'directory: where the packet comes from' }),
    sip_user_agent: anyText({ description: 'directory: what sent it' }),
    'Caller-Context': anyText({ description: 'dialplan: `crosspoint` or `public`' }),
    'Caller-Destination-Number': anyText({ description: 'dialplan: what was dialled' }),
    'Caller-Caller-ID-Number': anyText({ description: 'dialplan: the number that the caller gives itself' }),
    'Caller-Network-Addr': anyText({ description: 'dialplan: where the call comes from' }),
    variable_sip_network_port: anyText({ description: 'dialplan: from which port' }),
    variable_sip_authorized: anyText({ description: 'dialplan: `true` when the caller has signed in' }),
    variable_user_name: anyText({ description: 'dialplan: as whom' }),
    variable_domain_name: anyText({ description: 'dialplan: in which realm' }),
    variable_sip_from_host: anyText({ description: 'dialplan: the realm that a caller names who has not' }),
    variable_sip_user_agent: anyText({ description: 'dialplan: what sent the call' }),
  },
  { ...multiline, title: 'Question of FreeSWITCH' },
)
export type SwitchQuestion = Static<typeof SwitchQuestion>
