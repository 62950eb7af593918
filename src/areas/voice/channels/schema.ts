import type { Static } from 'typebox'
import { anyText, flag, gregorian, integer, must, open } from '../../../lib/schema.ts'

export const Channel = open(
  {
    uuid: must(anyText({ description: 'Call-ID' })),
    answered: must(flag()),
    direction: anyText({ description: '`inbound` or `outbound`, as in call records' }),
    from: must(anyText({ description: 'SIP address of the caller' })),
    to: must(anyText({ description: 'SIP address that was called' })),
    destination: must(anyText({ description: 'Called number' })),
    username: anyText({ description: 'User name in `from`' }),
    authorizing_id: anyText({ description: 'Calling device, or the reason why the call was allowed' }),
    authorizing_type: anyText(),
    owner_id: anyText({ description: 'The user who owns that' }),
    bridge_id: must(anyText({ description: 'The same in all channels of a conversation' })),
    interaction_id: anyText({ description: 'ID of its call records' }),
    timestamp: must(gregorian('Start of the call')),
    elapsed_s: must(integer({ description: 'Seconds since it was answered; 0: it was not' })),
    node: must(anyText({ description: 'Edge of the call' })),
  },
  { title: 'Channel' },
)
export type Channel = Static<typeof Channel>

export const ChannelAction = open(
  { action: must(anyText({ description: '`hangup`' })) },
  { title: 'Action on a channel' },
)
