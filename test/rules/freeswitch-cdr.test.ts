import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readPostedLeg, UnreadableBody } from '../../src/areas/voice/freeswitch/cdr.operations.ts'
import { switchLegOf } from '../../src/areas/voice/freeswitch/cdr.rules.ts'
import type { Json } from '../../src/lib/json.ts'

// What FreeSWITCH percent-encodes.
const escaped = (text: string) =>
  text.replace(
    /[\r\n #%&+:;<=>?@[\\\]^`{|}"]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
  )

const withEncodedValues = (leg: { variables: Record<string, string> }) => ({
  ...leg,
  variables: Object.fromEntries(Object.entries(leg.variables).map(([name, value]) => [name, escaped(value)])),
})

const encodings: Record<string, (json: string) => string> = {
  json: (json) => json,
  percent: (json) => `cdr=${escaped(json)}`,
  component: (json) => `cdr=${encodeURIComponent(json)}`,
  base64: (json) => `cdr=${Buffer.from(json).toString('base64')}`,
  'base64 in a form': (json) => `cdr=${encodeURIComponent(Buffer.from(json).toString('base64'))}&uuid=x`,
}

/** The behavior of `switch_url_encode`: text that looks encoded stays unchanged. */
const leniently = (text: string) =>
  text
    .split(/(%[0-9A-F]{2})/)
    .map((part, index) => (index % 2 === 1 ? part : escaped(part)))
    .join('')

// Texts that FreeSWITCH can distinguish from encoded ones and from the JSON around them.
const unmistakable = fc
  .oneof(
    fc.string({ unit: 'grapheme' }),
    fc.constantFrom('Uli "Speedy" User', '50% Off & More', 'v=0\r\no=-\r\n', 'C:\\new'),
  )
  .filter((text) => !/%[0-9A-F]{2}|["\\][,:}\]\\"/bfnrtu]|["\\]$/.test(text))

const value = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc.constantFrom('100%', '100%25', 'a%20b', '50% Off & More', '<sip:a@b>', '+14155550100', ''),
)

// Every leg has its times among the variables.
const leg = fc
  .dictionary(fc.stringMatching(/^[a-z_]{1,12}$/), value, { maxKeys: 6 })
  .map((variables) => ({ variables: { ...variables, start_stamp: '2026-02-07 09:15:02' } }))

describe('the body of mod_json_cdr', () => {
  it('means the same in every encoding, with its values encoded separately or not', () => {
    fc.assert(
      fc.property(
        leg,
        fc.constantFrom(...Object.keys(encodings)),
        fc.boolean(),
        (sent, encoding, encodesValues) => {
          const json = JSON.stringify(encodesValues ? withEncodedValues(sent) : sent)
          const body = Buffer.from((encodings[encoding] as (json: string) => string)(json))
          expect(readPostedLeg(body).leg).toEqual(sent)
        },
      ),
    )
  })

  it('is understood although FreeSWITCH encodes values once and not twice when `encode` and `encode-values` are on', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.stringMatching(/^[a-z_]{1,12}$/), unmistakable, { maxKeys: 6 }),
        (variables) => {
          const sent = {
            variables: { ...variables, start_stamp: '2026-02-07 09:15:02' },
            callflow: [
              {
                caller_profile: { caller_id_name: 'Uli \\ "Speedy" User', uuid: 'a' },
                times: { created_time: 5 },
              },
            ],
          }
          const encoded = {
            ...sent,
            variables: Object.fromEntries(
              Object.entries(sent.variables).map(([name, text]) => [name, leniently(text)]),
            ),
          }
          const body = Buffer.from(`cdr=${leniently(JSON.stringify(encoded))}`)
          expect(readPostedLeg(body).leg).toEqual(sent)
        },
      ),
    )
  })

  it('may hold names in bytes that are no UTF-8', () => {
    const body = `cdr=${escaped(JSON.stringify({ variables: { name: 'X', start_stamp: 'a b' } })).replace('X', 'Ren%E9')}`
    expect(readPostedLeg(Buffer.from(body))).toEqual({
      leg: { variables: { name: 'Ren\udce9', start_stamp: 'a b' } },
      isRepaired: true,
    })
  })

  it('is refused or read, and never anything else', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.string().map((text) => `cdr=${text}`),
          fc.json(),
        ),
        (text) => {
          try {
            switchLegOf(readPostedLeg(Buffer.from(text)).leg)
          } catch (error) {
            expect(error).toBeInstanceOf(UnreadableBody)
          }
        },
      ),
    )
  })
})

const recordOf = (variables: Json, more: Json = {}) => switchLegOf({ ...more, variables }).record

describe('the record of a leg', () => {
  it('is made of whatever there is', () => {
    fc.assert(
      fc.property(
        fc.object({ maxDepth: 3 }),
        fc.object(),
        fc.array(fc.anything(), { maxLength: 2 }),
        (variables, more, callflow) => {
          expect(switchLegOf({ ...more, callflow, variables }).record).toBeTypeOf('object')
        },
      ),
    )
  })

  it.each([
    ['the general one', { hangup_cause: 'NORMAL_CLEARING' }, 'NORMAL_CLEARING'],
    ['of a bridge', { last_app: 'bridge', bridge_hangup_cause: 'USER_BUSY', hangup_cause: 'X' }, 'USER_BUSY'],
    [
      'of a bridge that bowed out',
      {
        last_app: 'bridge',
        bridge_hangup_cause: 'BOWOUT',
        originate_failed_cause: 'NO_ANSWER',
        hangup_cause: 'X',
      },
      'NO_ANSWER',
    ],
    ['of an outbound leg', { direction: 'outbound', last_bridge_hangup_cause: 'A', hangup_cause: 'B' }, 'A'],
    ['of a blind transfer', { endpoint_disposition: 'BLIND_TRANSFER', hangup_cause: 'B' }, 'BLIND_TRANSFER'],
    [
      'of an attended transfer',
      { endpoint_disposition: 'ATTENDED_TRANSFER', hangup_cause: 'B' },
      'ATTENDED_TRANSFER',
    ],
  ])('has the hang-up cause %s', (_title, variables, cause) => {
    expect(recordOf(variables).hangup_cause).toBe(cause)
  })

  it('takes the first variable that is there', () => {
    expect(recordOf({ presence_id: 'p@x', sip_from_uri: 'f@x' }).from).toBe('f@x')
    expect(recordOf({ presence_id: 'p@x', sip_invite_from_uri: 'i@x' })).toMatchObject({
      from: 'p@x',
      from_uri: 'i@x',
    })
    expect(recordOf({ sip_invite_req_uri: 'r@x', sip_to_uri: 't@x' })).toMatchObject({
      to: 't@x',
      request: 'r@x',
    })
    expect(recordOf({ sip_to_uri: 'sip:t@x' })).toMatchObject({ to: 't@x', to_uri: 't@x', request: 't@x' })
  })

  it('reads times written as numbers and as texts; zero is never', () => {
    const callflow = (created: unknown) => ({
      callflow: [{ times: { created_time: created, hangup_time: '0' } }],
    })
    expect(recordOf({}, callflow(1_767_600_000_250_000)).channel_created_time).toBe(1_767_600_000_250_000)
    expect(recordOf({}, callflow('1767600000250000')).channel_created_time).toBe(1_767_600_000_250_000)
    expect(recordOf({ start_uepoch: '5' }, callflow(0)).channel_created_time).toBe(5)
    expect(recordOf({ end_epoch: '0' })).not.toHaveProperty('timestamp')
    expect(recordOf({ end_epoch: '1767600068' }).timestamp).toBe(63_934_819_268)
  })

  it('has the variables of the platform as channel variables, those of headers behind those of the channel', () => {
    expect(
      recordOf({
        'ecallmgr_Account-Billing': 'per_minute',
        ecallmgr_Rate: '120',
        ecallmgr_Rate_Name: 'us',
        'sip_h_X-ecallmgr_Rate': '5',
        'sip_h_X-ecallmgr_Resource-ID': 'r',
        fetch_id: 'f',
      }).custom_channel_vars,
    ).toEqual({ account_billing: 'per_minute', rate: 120, rate_name: 'us', resource_id: 'r', fetch_id: 'f' })
  })

  it('has the headers of its direction, without those of the platform', () => {
    const headers = {
      'sip_h_X-Tenant': 'a',
      'sip_h_X-AUTH-IP': 'b',
      'sip_h_X-FS-Support': 'c',
      'sip_h_Refer-To': 'd',
    }
    expect(recordOf({ direction: 'inbound', ...headers }).custom_sip_headers).toEqual({
      in: { 'X-Tenant': 'a' },
    })
    expect(recordOf({ direction: 'outbound', ...headers }).custom_sip_headers).toEqual({
      out: { 'X-Tenant': 'a' },
    })
  })

  it('has the callee of the leg that it originated, never the caller', () => {
    const calleeOf = (originatee: Json) => {
      const profiles = { originatee_caller_profiles: [{ uuid: 'b', ...originatee }] }
      const caller_profile = { caller_id_name: 'Uli', caller_id_number: '1002', originatee: profiles }
      const { callee_id_name: name, callee_id_number: number } = recordOf(
        {},
        { callflow: [{ caller_profile }] },
      )
      return [name, number]
    }
    const caller = { caller_id_name: 'Uli', caller_id_number: '1002' }
    expect(calleeOf(caller)).toEqual([undefined, undefined])
    expect(calleeOf({ ...caller, destination_number: '1001' })).toEqual([undefined, '1001'])
    const callee = { callee_id_name: 'Ada', callee_id_number: '1009' }
    expect(calleeOf({ ...caller, ...callee, destination_number: '1001' })).toEqual(['Ada', '1009'])
  })

  it('belongs to the leg that originated it, unless it names its interaction', () => {
    const joinsOf = (variables: Json) => switchLegOf({ variables }).joins
    expect(joinsOf({ uuid: 'b', originating_leg_uuid: 'a' })).toEqual({ callId: 'a', transferred: [] })
    expect(joinsOf({ uuid: 'a' })).toEqual({ callId: 'a', transferred: [] })
    expect(joinsOf({ uuid: 'a', 'ecallmgr_Call-Interaction-ID': '63934819200-8d3f1a2b' })).toBeUndefined()
    const profiles = { originator_caller_profiles: [{ uuid: 'root', caller_id_number: '7' }] }
    const leg = switchLegOf({
      variables: { uuid: 'b' },
      callflow: [{ caller_profile: { originator: profiles } }],
    })
    expect(leg.joins).toEqual({ callId: 'root', transferred: [] })
    expect(leg.record).toMatchObject({
      other_leg_call_id: 'root',
      other_leg_direction: 'inbound',
      callee_id_number: '7',
    })
  })
})
