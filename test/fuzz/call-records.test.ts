// Call records whose descriptive fields are whatever the far end of a call can send: every one with a call id, an account
// and its seconds is stored, with these as they were sent.
import { expect, it } from 'vitest'
import { Cdr } from '../../src/areas/calls/cdrs/schema.ts'
import type { Json } from '../../src/lib/json.ts'
import { countOf } from '../support/run/run-length.ts'
import { storedRows } from '../support/world/stored-cdrs.ts'
import { inParallel, walkLimitMs } from '../support/world/walk.ts'
import { describeAnyEngine, useWorld } from '../support/world/world.ts'
import { type Chance, createChance, seed } from './chance.ts'
import { hostileObject, hostileText, hostileValue } from './hostile.ts'

const records = countOf(1000, 100_000)
// Each post is a separate request and transaction: they are a fifth of all.
const linesAtOnce = 400
const postsAtOnce = 100
const ended = 63_934_785_600

// The fields that `cdr` settings ignore, and the billing fields.
const strict = new Set([
  'call_id',
  'call_direction',
  'timestamp',
  'duration_seconds',
  'billing_seconds',
  'custom_channel_vars',
  'channel_is_loopback',
  'channel_loopback_bowout',
])
const recordFields = Object.keys(Cdr.properties).filter((name) => !strict.has(name))
const varFields = ['owner_id', 'authorizing_id', 'bridge_id', 'resource_id', 'resource_type', 'rate_name']
const moreVars = ['global_resource', 'call_priority', 'media_recordings', 'e164_destination', 'reseller_id']

const switchVariables = [
  ...['sip_from_uri', 'sip_to_uri', 'sip_req_uri', 'presence_id', 'sip_user_agent', 'sip_from_display'],
  ...['effective_caller_id_name', 'origination_caller_id_number', 'effective_callee_id_name'],
  ...['hangup_cause_q850', 'last_bridge_hangup_cause', 'endpoint_disposition', 'sip_hangup_disposition'],
  ...['bridge_uuid', 'originating_leg_uuid', 'transfer_to', 'transfer_source', 'progresssec', 'start_uepoch'],
  ...['switch_r_sdp', 'rtp_local_sdp_str', 'digits_dialed', 'fax_result_text', 'has_t38', 'channel_name'],
  ...[
    'ecallmgr_Call-Interaction-ID',
    'ecallmgr_Owner-ID',
    'ecallmgr_Resource-Type',
    'ecallmgr_Media-Recordings',
  ],
  ...['sip_h_X-Tenant', 'sip_h_X-ecallmgr_Call-Priority', 'ecallmgr_E164-Destination'],
]

// Stand for what JSON.stringify does not write: they are replaced in the bytes.
const bareNumbers = [
  'nan',
  '-nan',
  'inf',
  '-inf',
  '-nan(ind)',
  'NaN',
  'Infinity',
  '1e999',
  '12345678901234567890',
  '-1.#IND',
  '1.#INF',
  '1.#QNAN',
]
const rawTexts = ['\0', '\t', '\x1b', '\x7f', '\xff', '\xc3(', '\xed\xa0\x80', '\xe9', '\\x']

const tokenOf = (kind: 'n' | 't', at: number) => `@${kind}${at}@`

const withRawParts = (json: string): Buffer => {
  const numbers = json.replace(/"@n(\d+)@"/g, (_whole, at: string) => bareNumbers[Number(at)] ?? '')
  // Each character is a byte from here on.
  return Buffer.from(
    Buffer.from(numbers)
      .toString('latin1')
      .replace(/@t(\d)@/g, (_whole, at: string) => rawTexts[Number(at)] ?? ''),
    'latin1',
  )
}

const farText = (chance: Chance): string => {
  const raw = tokenOf('t', chance.below(rawTexts.length))
  return chance.once(3) ? `${hostileText(chance)}${raw}x` : hostileText(chance)
}

const farValue = (chance: Chance): unknown => {
  if (chance.once(3)) return farText(chance)
  return chance.once(4) ? tokenOf('n', chance.below(bareNumbers.length)) : hostileValue(chance)
}

const someOf = <T>(chance: Chance, names: readonly string[], value: () => T): [string, T][] =>
  chance.many(5, () => [chance.pick(names), value()])

// Two calls share an id up to here, and most of what is behind it is repaired.
const idEnd = '~'
const idTails = ['', '\x01', ...rawTexts.map((_, at) => tokenOf('t', at))]

/** What a C program writes behind a text. */
const mayEndInNul = (chance: Chance, bytes: Buffer) =>
  chance.once(5) ? Buffer.concat([bytes, Buffer.from('\0')]) : bytes

interface Sent {
  id: string
  duration: number
  billed: number
}

const lineOf = (chance: Chance, { id, duration, billed }: Sent, accountId: string) => {
  const value = () => farValue(chance)
  const vars = [...someOf(chance, [...varFields, ...moreVars, 'mine'], value), ['account_id', accountId]]
  const record = Object.fromEntries([
    ...Object.entries(chance.once(2) ? hostileObject(chance) : {}).filter(([name]) => !strict.has(name)),
    ...someOf(chance, recordFields, value),
    ['call_id', id],
    ['timestamp', ended],
    ['duration_seconds', chance.once(2) ? duration : String(duration)],
    ['billing_seconds', billed],
    ['custom_channel_vars', Object.fromEntries(vars)],
  ])
  return mayEndInNul(chance, withRawParts(JSON.stringify(record)))
}

/** What FreeSWITCH percent-encodes, and bytes beyond ASCII. */
const escaped = (bytes: Buffer) =>
  bytes.toString('latin1').replace(/[\r\n #%&+:;<=>?@[\\\]^`{|}"\0\x7f-\xff]/g, (sign) => {
    return `%${sign.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`
  })

const bodies: ((json: Buffer) => Buffer | string)[] = [
  (json) => json,
  (json) => `cdr=${escaped(json)}`,
  (json) => `cdr=${json.toString('base64')}`,
  (json) => `uuid=a&cdr=${encodeURIComponent(json.toString('base64'))}`,
]

const legOf = (chance: Chance, { id, duration, billed }: Sent, accountId: string) => {
  const text = () => farText(chance)
  const variables: Record<string, string> = Object.fromEntries([
    ...someOf(chance, switchVariables, text),
    ...(chance.once(2) ? [[`sip_h_X-${text()}`, text()] as const] : []),
    ['uuid', id],
    ['ecallmgr_Account-ID', accountId],
    ['direction', 'inbound'],
    ['start_stamp', '2026-01-04 22:39:30'],
    ['end_epoch', String(ended - 62_167_219_200)],
    ['duration', String(duration)],
    ['billsec', String(billed)],
  ])
  const encodesValues = chance.once(2)
  const profile = () => Object.fromEntries(someOf(chance, ['caller_id_name', 'callee_id_name', 'uuid'], text))
  const leg: Json = {
    callStats: { audio: { mos: farValue(chance), jitter: tokenOf('n', chance.below(bareNumbers.length)) } },
    variables: encodesValues
      ? Object.fromEntries(
          Object.entries(variables).map(([name, value]) => [name, escaped(withRawParts(value))]),
        )
      : variables,
    callflow: [{ caller_profile: { ...profile(), originatee: { originatee_caller_profiles: [profile()] } } }],
  }
  return chance.pick(bodies)(mayEndInNul(chance, withRawParts(JSON.stringify(leg))))
}

describeAnyEngine('Call records with whatever the far end of a call sends', (engine) => {
  const world = useWorld(engine)

  const putLines = async (lines: readonly Buffer[]) => {
    const body = Buffer.concat(lines.flatMap((line) => [line, Buffer.from('\n')]))
    const headers = { 'content-type': 'application/x-ndjson' }
    const { data } = await world.operator.put('/v2/cdrs', undefined, { body, headers })
    const rejected = data.rejected.map(({ line, reason }: { line: number; reason: string }) => [
      reason,
      lines[line - 1]?.toString(),
    ])
    expect(rejected).toEqual([])
    expect(data.accepted).toBe(lines.length)
  }

  const post = async (place: string, body: Buffer | string) => {
    const response = await fetch(place, { method: 'POST', body: Uint8Array.from(Buffer.from(body)) })
    expect([await response.json(), body.toString()]).toEqual([{ status: 'accepted' }, body.toString()])
  }

  const repairs = async (source: string) => {
    const { text } = await world.anonymous.get('/metrics')
    const form = new RegExp(`^crosspoint_call_records_repaired_total\\{source="${source}"\\} (\\d+)$`, 'm')
    return Number(form.exec(text)?.[1] ?? 0)
  }

  it(
    `are stored, each of ${records}, with their seconds`,
    async () => {
      const chance = createChance(seed)
      const { id: accountId } = world.acme
      const { data: ingest } = await world.operator.get('/v2/system_configs/ingest')
      const place = `http://127.0.0.1:${world.server.port}/ingest/freeswitch/${ingest.default.freeswitch_secret}`
      const sent: Sent[] = []
      const some = (count: number) =>
        Array.from({ length: count / 2 }, () => {
          const first = chance.below(idTails.length)
          const second = (first + 1 + chance.below(idTails.length - 1)) % idTails.length
          const pair = [first, second].map((tail) => {
            const duration = chance.below(5000)
            const id = `far-${sent.length}${idEnd}${idTails[tail]}`
            return { id, duration, billed: chance.below(duration + 1) }
          })
          sent.push(...pair)
          return pair
        }).flat()
      while (sent.length < records) {
        await putLines(some(linesAtOnce).map((one) => lineOf(chance, one, accountId)))
        await inParallel(
          some(postsAtOnce).map((one) => legOf(chance, one, accountId)),
          (body) => post(place, body),
        )
      }
      const stored = (await storedRows(world.server.store)).filter(({ account_id: id }) => id === accountId)
      const beginningOf = (id: string) => id.split(idEnd, 1)[0] ?? ''
      const byId = Map.groupBy(stored, ({ id }) => beginningOf(id.slice(7)))
      const lost = sent.filter(({ id, duration, billed }) => {
        const rows = byId.get(beginningOf(id)) ?? []
        return !rows.some((row) => row.duration_seconds === duration && row.billing_seconds === billed)
      })
      expect(stored).toHaveLength(sent.length)
      expect(lost).toEqual([])
      // The walk is worth something only if much of what it sends is repaired.
      for (const source of ['api', 'freeswitch']) expect(await repairs(source)).toBeGreaterThan(records / 20)
    },
    walkLimitMs,
  )
})
