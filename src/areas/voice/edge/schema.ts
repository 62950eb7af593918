import type { Static } from 'typebox'
import { anyText, choice, flag, id, integer, list, must, open } from '../../../lib/schema.ts'

const List = open({
  order: must(anyText({ description: '`allow,deny` or `deny,allow`' })),
  cidrs: must(list(anyText())),
  user_agent: anyText(),
})

const limit = (description: string) => must(integer({ description }))

const Counters = open({
  registrations: limit('REGISTER packets'),
  invites: limit('INVITE packets'),
  total_packets: limit('Packets of any kind'),
})

const Limits = open({ per_minute: must(Counters), per_second: must(Counters) })

export const EdgeAnswer = open(
  {
    account_id: id({
      description: 'Whose realm it is; absent when it is nobody of whom the caller may know',
    }),
    device_id: id({ description: 'Absent when the realm has no such user name' }),
    owner_id: id({ description: 'The user who owns the device' }),
    trunk_id: id({ description: 'The trunks of which a server has that user name, or that address' }),
    server: anyText({ description: 'The server of the trunks: its name, else its place' }),
    method: choice(['ip'], {
      description: 'Present where a device or server is known by its address: no password is asked for',
    }),
    ha1: anyText({
      description:
        'With `credentials`: MD5 of `username:realm:password`, names as asked, of a device or server that signs in by password',
    }),
    expires_s: integer({ description: 'With `credentials`: how long a registration of the device lasts' }),
    access_lists: must(
      open({ realm: List, device: List }, { description: 'A list that is not kept is absent' }),
    ),
    rate_limits: must(
      open({ account: must(Limits), device: must(Limits) }, { description: '-1: nothing may pass' }),
    ),
    max_age_s: must(integer({ description: 'Seconds that the answer may be kept' })),
    allowed: flag({
      description:
        'Whether the access lists let the address in; when one was given, or when nothing may pass',
    }),
    reason: anyText({
      description:
        'Why: `account_disabled`, `user_disabled`, `device_disabled`, `trunk_disabled`, or what the access lists came to',
    }),
  },
  { title: 'Edge decision' },
)
export type EdgeAnswer = Static<typeof EdgeAnswer>
