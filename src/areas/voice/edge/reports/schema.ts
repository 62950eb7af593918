import type { Static } from 'typebox'
import { anyObject, anyText, id, integer, list, multiline, must, open, text } from '../../../../lib/schema.ts'
import { IntakeReport } from '../../../calls/cdrs/intake/schema.ts'

// Gregorian seconds of 11 digits end in the year 3168.
const at = must(integer({ minimum: 0, maximum: 99_999_999_999, description: 'When (Gregorian seconds)' }))

/** A packet that an edge has turned away. */
export const EdgeRefusal = open(
  {
    realm: must(text(1, 253, { description: 'The realm the packet named' })),
    username: text(0, 256, { description: 'The SIP user name it named' }),
    address: text(0, 64, { description: 'Where it came from' }),
    user_agent: text(0, 512, { description: 'What sent it' }),
    method: text(1, 32, { description: 'REGISTER, INVITE, ...' }),
    number: text(0, 64, { description: 'Whom it called' }),
    reason: must(
      text(1, 64, {
        pattern: '^[a-z0-9_]+$',
        description: 'As `/v2/edge` and `/v2/edge/route` give it, or one of the edge: `wrong_password`',
      }),
    ),
    module: text(1, 64, { description: 'The module of a call flow that needs a media server' }),
    sip_code: must(integer({ minimum: 300, maximum: 699, description: 'What it was answered with' })),
    at,
  },
  { ...multiline, title: 'Refusal at an edge' },
)
export type EdgeRefusal = Static<typeof EdgeRefusal>

/** A call to emergency services that has begun at an edge. */
export const EdgeEmergency = open(
  {
    account_id: must(id({ description: 'Whose call it is' })),
    device_id: id({ description: 'The device that calls' }),
    call_id: must(text(1, 256)),
    number: must(text(1, 64, { description: 'What was dialled' })),
    caller_id_number: text(0, 64, { description: 'The number that emergency services call back' }),
    address: text(0, 64, { description: 'Where the call came from' }),
    at,
  },
  { title: 'Emergency call at an edge' },
)
export type EdgeEmergency = Static<typeof EdgeEmergency>

/** Each record and refusal is judged by itself: what cannot be taken does not hold up what comes after it. */
export const EdgeReports = open(
  {
    records: list(anyObject(), { description: 'Call detail records, one a leg' }),
    refusals: list(EdgeRefusal),
    emergencies: list(EdgeEmergency),
  },
  { title: 'Reports of an edge' },
)

const count = (description: string) => must(integer({ minimum: 0, description }))

const Rejected = list(
  open({
    line: must(integer({ description: 'Which one, counted from 1' })),
    reason: must(anyText()),
  }),
)

export const EdgeReportsTaken = open(
  {
    records: must(IntakeReport),
    refusals: must(
      open({
        told: count('Refusals that are told in the feeds of their accounts'),
        repeated: count('Refusals like one that was told within the last minute'),
        unknown: count('Refusals of realms that no account has'),
        rejected: must(Rejected),
      }),
    ),
    emergencies: open(
      {
        told: count('Emergency calls that are in the feeds of their accounts'),
        rejected: must(Rejected),
      },
      { description: 'When some were reported' },
    ),
  },
  { title: 'What became of the reports of an edge' },
)
export type EdgeReportsTaken = Static<typeof EdgeReportsTaken>
