import type { Static } from 'typebox'
import { anyText, gregorian, id, integer, must, open } from '../../../lib/schema.ts'

export const Registration = open(
  {
    account_id: must(id()),
    account_realm: must(anyText({ description: "The account's" })),
    authorizing_id: must(id({ description: 'The device' })),
    authorizing_type: must(anyText({ description: 'Always `device`' })),
    owner_id: anyText({ description: 'The user who owns the device' }),
    username: must(anyText({ description: 'SIP user name' })),
    realm: must(anyText({ description: 'In which the device is registered' })),
    contact: must(anyText({ description: 'SIP address that the phone has said' })),
    contact_ip: anyText({ description: 'Host in it' }),
    contact_port: integer({ description: 'Port in it' }),
    source_ip: anyText({ description: 'Address that the edge saw' }),
    source_port: integer(),
    user_agent: anyText({ description: 'User agent of the phone' }),
    call_id: must(anyText({ description: 'Call-ID of the REGISTER' })),
    expires: must(integer({ description: 'Seconds that are left of it' })),
    event_timestamp: must(gregorian('Time of the last registration')),
    registrar_hostname: must(anyText({ description: 'Edge with the registration' })),
    proxy_ip: anyText({ description: 'Address of the edge that the phone uses' }),
    proxy_port: integer(),
    proxy_protocol: anyText({ description: '`udp`, `tcp`, `tls`, `ws`, `wss`' }),
  },
  { title: 'Registration' },
)
export type Registration = Static<typeof Registration>

export const RegistrationCount = open(
  { count: must(integer({ description: 'Contacts of all devices of the account' })) },
  { title: 'Count of registrations' },
)
