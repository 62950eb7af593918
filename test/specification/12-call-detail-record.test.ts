import { expect, it } from 'vitest'
import type { Json } from '../../src/lib/json.ts'
import { memberOf } from '../../src/lib/member.ts'
import { type FieldRow, fieldsOf, named, nested } from '../support/matchers/field-rows.ts'
import { legOf, nowOf, sendLegs } from '../support/world/legs.ts'
import { describeAnyEngine, useWorld } from '../support/world/world.ts'

const text = { takes: ['x', ''], refuses: { type: [5] } }
const seconds = { takes: [0, 61], refuses: { type: ['x', 1.5], minimum: [-1] } }
const object = { takes: [{}, { campaign: 'spring' }], refuses: { type: ['x'] } }

const rows: FieldRow[] = [
  {
    says: 'call_direction: string, `inbound` or `outbound`',
    takes: ['inbound', 'outbound'],
    refuses: { enum: ['sideways'] },
  },
  {
    says: 'billing_seconds, ringing_seconds: integer, billable seconds and those before the answer',
    ...seconds,
  },
  { says: 'duration_seconds: integer, duration of the leg', ...seconds },
  {
    says: 'channel_created_time: integer, creation of the channel in Unix microseconds',
    takes: [1_767_614_400_123_456],
    refuses: { type: ['today', 1.5] },
  },
  {
    says: 'app_name, app_version: string, the issuing application and its version',
    ...text,
  },
  {
    says: 'callee_id_name, callee_id_number, caller_id_name, caller_id_number: string, names and numbers indicated',
    ...text,
  },
  {
    says: 'channel_call_state, channel_name, channel_state: string, channel data of the media server',
    ...text,
  },
  { says: 'custom_application_vars: object, custom values', ...object },
  {
    says: 'custom_sip_headers: object with `in` and `out`, of header names with string, boolean or integer',
    takes: [{}, { in: { 'X-Tenant_1': 'blue' }, out: { 'X-Paid': true, 'X-Count': 7 } }],
    refuses: {
      type: ['X-Tenant: blue'],
      'in.type': [{ in: 'X-Tenant: blue' }],
      'out.X-Count.type': [{ out: { 'X-Count': 1.5 } }],
      'in.X Tenant.additionalProperties': [{ in: { 'X Tenant': 'blue' } }],
    },
  },
  { says: 'digits_dialed: string, DTMF tones detected', ...text },
  { says: 'disposition: string, who sent the SIP BYE', ...text },
  { says: 'event_category, event_name, msg_id: string, message keys of the platform', ...text },
  {
    says: 'fax_bad_rows, fax_ecm_used, fax_result_code, fax_result_text: string, fax result data',
    ...text,
  },
  {
    says: 'fax_success, fax_total_pages, fax_transfer_rate, fax_transferred_pages: string, the same',
    ...text,
  },
  { says: 'fax_t38: boolean, may exist, too', takes: [true, false], refuses: { type: ['perhaps'] } },
  { says: 'from, to, from_tag, to_tag, from_uri, to_uri, request: string, SIP addressing', ...text },
  { says: 'hangup_cause, hangup_code: string, why the leg ended and the SIP code', ...text },
  { says: 'local_sdp, remote_sdp: string, negotiated SDP', ...text },
  {
    says: 'media_server, switch_hostname, switch_nodename, switch_uri, switch_url: string, of the media server',
    ...text,
  },
  { says: 'node: string, the call manager that issued the CDR', ...text },
  {
    says: 'other_leg_call_id, other_leg_caller_id_name, other_leg_caller_id_number: string, of the bridged leg',
    ...text,
  },
  { says: 'other_leg_destination_number, other_leg_direction: string, the same', ...text },
  { says: 'presence_id: string, the id used in SIP NOTIFY', ...text },
  { says: 'user_agent: string, the SIP user agent header', ...text },
]

const variables: FieldRow[] = [
  { says: 'authorizing_id, authorizing_type, bridge_id, resource_id, reseller_id: string', ...text },
  { says: 'ecallmgr_node, fetch_id, realm, username: kept as they come', takes: ['x'], refuses: {} },
  {
    says: 'reseller_billing, account_billing: string',
    takes: ['per_minute', 'flat_rate'],
    refuses: { type: [5] },
  },
  {
    // Decimals are returned as whole units and exactly: test/api/call-billing.test.ts.
    says: 'rate, surcharge: units of money',
    takes: [0, 120],
    refuses: { type: ['x', '1.5e', true], minimum: [-1] },
  },
  { says: 'base_cost: kept as it comes', takes: [90], refuses: {} },
  { says: 'rate_name: string', ...text },
  { says: 'rate_minimum, rate_increment: integer, seconds', ...seconds },
  {
    says: 'resource_type: offnet or onnet, origination or termination',
    takes: ['offnet-origination', 'offnet-termination', 'onnet-origination', 'onnet-termination'],
    refuses: { enum: ['sideways'] },
  },
  {
    says: 'global_resource: boolean, whether the resource is the system’s',
    takes: [true, false],
    refuses: { type: ['perhaps'] },
  },
].map((row) => ({ ...row, within: 'custom_channel_vars' }))

/** A record with a wrong value in one of these is refused. The others only describe the call. */
const billed = new Set([
  'call_direction',
  'duration_seconds',
  'billing_seconds',
  ...['account_billing', 'reseller_billing', 'rate', 'surcharge', 'rate_minimum', 'rate_increment'].map(
    (name) => `custom_channel_vars.${name}`,
  ),
])

describeAnyEngine('The call detail record', (engine) => {
  const world = useWorld(engine)

  const leg = (fields: Json = {}) => legOf(world.acme, nowOf(world), { billing_seconds: 0, ...fields })

  const idOf = ({ call_id }: Json) => `202601-${call_id}`

  const read = ({ call_id }: Json, by = world.operator) => by.get(`${world.acme.path}/cdrs/202601-${call_id}`)

  /** The response for a record that was sent. */
  const told = (sent: Json) => ({
    ...sent,
    id: idOf(sent),
    interaction_id: `${sent.interaction_time}-${sent.interaction_key}`,
  })

  const refused = (sent: Json, at: string) =>
    world.unchanged(async () => {
      expect(await world.operator.put('/v2/cdrs', [sent])).toSucceedWith({
        accepted: 0,
        duplicates: 0,
        ignored: 0,
        rejected: [{ line: 1, reason: expect.stringContaining(`${at}: `) }],
        rejected_total: 1,
      })
    })

  /** A record with wrong descriptive fields is stored without them. */
  const repaired = async (sent: Json, field: string, value: unknown) => {
    await sendLegs(world, [sent])
    const { data } = await read(sent)
    expect(memberOf(data, ...field.split('.'))).not.toEqual(value)
  }

  it('is one per call leg', async () => {
    const account = await world.account()
    const custom_channel_vars = { account_id: account.id }
    const legs = [
      leg({ call_direction: 'inbound', custom_channel_vars }),
      leg({ call_direction: 'outbound', custom_channel_vars }),
    ]
    await sendLegs(world, legs)
    const { data } = await world.operator.get(`${account.path}/cdrs`)
    expect(data.map(({ id }: Json) => id).sort()).toEqual(legs.map(idOf).sort())
  })

  it('call_id: string, the unique id of the leg, required', async () => {
    const sent = leg()
    await sendLegs(world, [sent])
    expect(await read(sent)).toSucceedWith(told(sent))
    const { call_id: _, ...nameless } = leg()
    await refused(nameless, 'call_id')
    await refused(leg({ call_id: { a: 5 } }), 'call_id')
  })

  it('everything else is optional', async () => {
    const bare = {
      call_id: 'bare',
      timestamp: nowOf(world),
      custom_channel_vars: { account_id: world.acme.id },
    }
    await sendLegs(world, [bare])
    expect((await read(bare)).data).toMatchObject(bare)
  })

  it.each(named([...rows, ...variables]))('%s', async (_name, row) => {
    for (const field of fieldsOf(row)) {
      for (const value of row.takes) {
        const sent = leg(nested(field, value))
        await sendLegs(world, [sent])
        expect(await read(sent)).toSucceedWith(told(sent))
      }
      for (const [rule, values] of Object.entries(row.refuses))
        for (const value of values) {
          const sent = leg(nested(field, value))
          const place = [field, ...rule.split('.').slice(0, -1)].join('.')
          await (billed.has(field) ? refused(sent, place) : repaired(sent, field, value))
        }
    }
  })

  it('interaction_time, timestamp: integer, when the interaction began and the CDR was made', async () => {
    const sent = leg({ interaction_time: nowOf(world) - 90 })
    await sendLegs(world, [sent])
    expect((await read(sent)).data).toMatchObject({
      timestamp: nowOf(world),
      interaction_time: nowOf(world) - 90,
    })
    await refused(leg({ timestamp: 'today' }), 'timestamp')
    await repaired(leg({ interaction_time: 1.5 }), 'interaction_time', 1.5)
  })

  it('interaction_id, interaction_key: string, shared by legs that belong together, and its unique part', async () => {
    const together = { interaction_time: nowOf(world) - 60, interaction_key: '1a2b3c4d' }
    const legs = [leg(together), leg(together)]
    await sendLegs(world, legs)
    const ids = await Promise.all(legs.map(async (sent) => (await read(sent)).data.interaction_id))
    expect(ids).toEqual(Array(2).fill(`${nowOf(world) - 60}-1a2b3c4d`))
    await repaired(leg({ interaction_key: 5 }), 'interaction_key', 5)
  })

  it('custom_channel_vars: object, properties of the platform; account_id says whose call it was', async () => {
    const sent = leg()
    await sendLegs(world, [sent])
    expect((await read(sent)).data.custom_channel_vars).toEqual({ account_id: world.acme.id })
    await refused({ ...leg(), custom_channel_vars: 'x' }, 'custom_channel_vars')
    await refused({ ...leg(), custom_channel_vars: {} }, 'custom_channel_vars.account_id')
  })

  it.each(['device', 'mobile', 'resource', 'outbound_fax'])(
    'custom_channel_vars.authorizing_type: `%s` is one',
    async (authorizing_type) => {
      const sent = leg({ custom_channel_vars: { authorizing_type } })
      await sendLegs(world, [sent])
      expect((await read(sent)).data.custom_channel_vars.authorizing_type).toBe(authorizing_type)
    },
  )

  it('rating and billing properties may be hidden: what a call costs others than the account', async () => {
    const custom_channel_vars = { account_billing: 'per_minute', rate: 120, base_cost: 90 }
    const sent = leg({ custom_channel_vars })
    await sendLegs(world, [sent])
    expect((await read(sent)).data.custom_channel_vars).toMatchObject(custom_channel_vars)
    expect((await read(sent, world.ada)).data.custom_channel_vars).toEqual({
      account_id: world.acme.id,
      account_billing: 'per_minute',
      rate: 120,
    })
  })

  it('is visible only to users of the account and above it', async () => {
    const sent = leg()
    await sendLegs(world, [sent])
    for (const person of [world.uli, world.ross]) expect(await read(sent, person)).toSucceed()
    expect(await read(sent, world.rex)).toFailWith(403, 'forbidden')
  })
})
