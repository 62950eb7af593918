// The corpora of test/data/call-records: each case has the text that is sent, and the stored record or the reason of the rejection.
import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { ratedNumber } from '../../src/areas/calls/cdrs/billing/rules.ts'
import type { Json } from '../../src/lib/json.ts'
import { storedCdrs } from '../support/world/stored-cdrs.ts'
import { describeAnyEngine, useWorld } from '../support/world/world.ts'

interface Case {
  name: string
  /** ID and ACCOUNT are placeholders. */
  sent: string
  charset?: 'latin1'
  encoding?: 'percent' | 'raw form' | 'base64'
  /** The record without its ids, its interaction and its account. */
  stored?: Json
  rejected?: string
}

const casesIn = (file: string): Case[] =>
  JSON.parse(readFileSync(new URL(`../data/call-records/${file}.json`, import.meta.url), 'utf8'))

const encoded = (bytes: Buffer, encoding: Case['encoding']) => {
  if (encoding === 'percent') return Buffer.from(`cdr=${encodeURIComponent(bytes.toString())}`)
  if (encoding === 'raw form') return Buffer.concat([Buffer.from('cdr='), bytes])
  if (encoding === 'base64') return Buffer.from(`cdr=${encodeURIComponent(bytes.toString('base64'))}`)
  return bytes
}

describeAnyEngine('A difficult call record', (engine) => {
  const world = useWorld(engine)
  let made = 0

  const bytesOf = ({ sent, charset = undefined, encoding }: Case, id: string) => {
    const text = sent.replace('ID', id).replaceAll('ACCOUNT', world.acme.id)
    return encoded(Buffer.from(text, charset), encoding)
  }

  const idFor = (file: string) => {
    made += 1
    return `${file}-${made}`
  }

  const storedWith = async (id: string) => {
    const all = await storedCdrs(world.server.store)
    const found = all.filter(({ call_id: callId }) => String(callId).replace(/[x\ufffd].*$/s, '') === id)
    expect(found).toHaveLength(1)
    const { id: _, call_id, interaction_id, interaction_time, interaction_key, ...record } = found[0] as Json
    const { account_id, ...vars } = record.custom_channel_vars as Json
    expect(account_id).toBe(world.acme.id)
    const kept: Json = { ...record, custom_channel_vars: vars }
    return { callId: String(call_id), record: kept }
  }

  const repairs = async (source: string) => {
    const text = await (await fetch(`http://127.0.0.1:${world.server.port}/metrics`)).text()
    const line = text.match(
      new RegExp(`^crosspoint_call_records_repaired_total{source="${source}"} (\\d+)$`, 'm'),
    )
    return Number(line?.[1] ?? 0)
  }

  const putLine = (bytes: Buffer) =>
    world.operator.put('/v2/cdrs', undefined, {
      body: bytes,
      headers: { 'content-type': 'application/x-ndjson' },
    })

  const post = async (bytes: Buffer) => {
    const { data } = await world.operator.get('/v2/system_configs/ingest')
    const place = `http://127.0.0.1:${world.server.port}/ingest/freeswitch/${data.default.freeswitch_secret}`
    const response = await fetch(place, { method: 'POST', body: Uint8Array.from(bytes) })
    return { status: response.status, body: (await response.json()) as Json }
  }

  for (const one of casesIn('lines')) {
    const outcome = one.stored ? 'is stored' : 'is rejected with a reason'
    it(`${outcome} when a line has ${one.name}`, async () => {
      const id = idFor('line')
      const bytes = bytesOf(one, id)
      if (one.stored) {
        expect((await putLine(bytes)).data).toMatchObject({ accepted: 1, rejected: [] })
        expect((await storedWith(id)).record).toEqual(one.stored)
      } else {
        const { data } = await world.unchanged(() => putLine(bytes))
        expect(data).toMatchObject({ accepted: 0, rejected: [{ line: 1 }] })
        expect(data.rejected[0].reason).toContain(one.rejected)
      }
    })
  }

  for (const one of casesIn('freeswitch')) {
    const outcome = one.stored ? 'is stored' : 'is rejected with a reason'
    it(`${outcome} when a FreeSWITCH posts ${one.name}`, async () => {
      const id = idFor('leg')
      const bytes = bytesOf(one, id)
      if (one.stored) {
        expect(await post(bytes)).toEqual({ status: 200, body: { status: 'accepted' } })
        expect((await storedWith(id)).record).toEqual(one.stored)
      } else {
        const answer = await world.unchanged(() => post(bytes))
        expect(answer).toEqual({ status: 400, body: { status: 'rejected', reason: one.rejected } })
      }
    })
  }

  /** The record of each id, of which the part in front of `x` is never repaired. */
  const pairOf = (all: readonly Json[], ...ids: readonly string[]) => {
    const beginningOf = (id: unknown) => String(id).split('x', 1)[0]
    return ids.map((id) => all.find(({ call_id: callId }) => beginningOf(callId) === beginningOf(id)))
  }

  it('has the same call id when it is sent again with a call id that is too long', async () => {
    const id = idFor('long')
    const record = (digits: string) => ({
      call_id: `${id}x${'9'.repeat(300)}${digits}`,
      timestamp: 63_934_785_600,
      custom_channel_vars: { account_id: world.acme.id },
    })
    const first = await world.operator.put('/v2/cdrs', [record('1')])
    expect(first.data).toMatchObject({ accepted: 1, duplicates: 0 })
    const { callId } = await storedWith(id)
    expect(callId).toMatch(new RegExp(`^${id}x9+-[0-9a-f]{32}$`))
    expect(callId).toHaveLength(255)
    const again = await world.operator.put('/v2/cdrs', [record('1'), record('2')])
    expect(again.data).toMatchObject({ accepted: 1, duplicates: 1 })
  })

  // The record is JSON in Latin-1: each character is a byte.
  const recordWith = (ids: { id: string; other?: string; bridge?: string }) =>
    JSON.stringify({
      call_id: ids.id,
      other_leg_call_id: ids.other,
      timestamp: 63_934_785_600,
      custom_channel_vars: { account_id: world.acme.id, bridge_id: ids.bridge },
    }).replaceAll('\\\\', '\\')

  const legWith = (uuid: string, variables: Json = {}) =>
    JSON.stringify({
      variables: {
        uuid,
        direction: 'inbound',
        start_stamp: '2026-01-04 22:39:30',
        end_epoch: '1767566400',
        duration: '30',
        billsec: '20',
        'ecallmgr_Account-ID': world.acme.id,
        ...variables,
      },
    }).replaceAll('\\\\', '\\')

  const everyByte = (bytes: Buffer) => bytes.toString('hex').replace(/../g, '%$&')

  // Without a digest most of these would be stored as the same text.
  const tails = [
    ...['\xff', '\xfe', '\xc3', '\xed\xa0\x80', '\xed\xa0\x81', '\xef\xbf\xbd'],
    ...['\\ud800', '\\ud801', '\\udfff', '\\u0000', '\\u0001', '\\u0002', ' ', ''],
    ...['1', '2'].map((digit) => `${'9'.repeat(300)}${digit}`),
  ]
  const escapes = tails.filter((tail) => !/[\x80-\xff]/.test(tail))

  const bodies: Record<string, (bytes: Buffer) => Buffer> = {
    'as JSON': (bytes) => bytes,
    'percent-encoded': (bytes) => Buffer.from(`cdr=${everyByte(bytes)}`),
    'in base64': (bytes) => encoded(bytes, 'base64'),
  }

  const counts = ({ data }: { data: Json }) => [data.accepted, data.duplicates, data.rejected]

  it('is stored next to records whose call ids are repaired to the same text when it is sent in lines', async () => {
    const id = idFor('alike')
    const body = Buffer.from(tails.map((tail) => recordWith({ id: `${id}x${tail}` })).join('\n'), 'latin1')
    expect(counts(await putLine(body))).toEqual([tails.length, 0, []])
    expect(counts(await putLine(body))).toEqual([0, tails.length, []])
  })

  it('is stored next to records whose call ids are repaired to the same text when it is sent in a list', async () => {
    const id = idFor('alike')
    const body = `{"data":[${escapes.map((tail) => recordWith({ id: `${id}x${tail}` })).join()}]}`
    const put = () =>
      world.operator.put('/v2/cdrs', undefined, { body, headers: { 'content-type': 'application/json' } })
    expect(counts(await put())).toEqual([escapes.length, 0, []])
    expect(counts(await put())).toEqual([0, escapes.length, []])
  })

  for (const [way, bodyOf] of Object.entries(bodies)) {
    it(`is stored next to records whose call ids are repaired to the same text when it is posted ${way}`, async () => {
      const id = idFor('alike')
      for (const status of ['accepted', 'duplicate'])
        for (const tail of tails) {
          const body = bodyOf(Buffer.from(legWith(`${id}x${tail}`), 'latin1'))
          expect([tail, await post(body)]).toEqual([tail, { status: 200, body: { status } }])
        }
    })
  }

  it('names another leg as that leg is stored, however its id is repaired', async () => {
    for (const tail of tails) {
      const [id, other] = [`${idFor('one')}x${tail}`, `${idFor('two')}x${tail}`]
      const lines = [recordWith({ id, other, bridge: id }), recordWith({ id: other, other: id, bridge: id })]
      expect(counts(await putLine(Buffer.from(lines.join('\n'), 'latin1')))).toEqual([2, 0, []])
      const [one, two] = pairOf(await storedCdrs(world.server.store), id, other)
      expect([one?.other_leg_call_id, two?.other_leg_call_id]).toEqual([two?.call_id, one?.call_id])
      expect(two?.custom_channel_vars).toMatchObject({ bridge_id: one?.call_id })
    }
  })

  it('shares an interaction with the leg that originated it, however the id of that is repaired', async () => {
    for (const tail of tails) {
      const [id, other] = [`${idFor('root')}x${tail}`, `${idFor('bridged')}x${tail}`]
      for (const leg of [legWith(other, { originating_leg_uuid: id }), legWith(id)])
        expect(await post(Buffer.from(leg, 'latin1'))).toEqual({ status: 200, body: { status: 'accepted' } })
      const [one, two] = pairOf(await storedCdrs(world.server.store), id, other)
      expect(two?.interaction_id).toBe(one?.interaction_id)
      expect(two?.other_leg_call_id).toBe(one?.call_id)
    }
  })

  it('is stored without a field of which more values are wrong than are mended one by one', async () => {
    const id = idFor('many')
    const headers = Object.fromEntries(Array.from({ length: 5000 }, (_, index) => [`X-${index}`, 'a\rb']))
    const record = {
      call_id: id,
      timestamp: 63_934_785_600,
      custom_sip_headers: { in: headers },
      custom_channel_vars: { account_id: world.acme.id },
    }
    const { data } = await putLine(Buffer.from(JSON.stringify(record)))
    expect(data).toMatchObject({ accepted: 1, rejected: [] })
    expect((await storedWith(id)).record).not.toHaveProperty('custom_sip_headers')
  })

  it('is counted by its source when it is repaired', async () => {
    const before = [await repairs('api'), await repairs('freeswitch')]
    const [named] = casesIn('lines') as [Case]
    const sound = { ...named, sent: named.sent.replace(/"caller_id_name":"[^"]*"/, '"caller_id_name":"Eve"') }
    await putLine(bytesOf(named, idFor('line')))
    await putLine(bytesOf(sound, idFor('line')))
    const [posted] = casesIn('freeswitch') as [Case]
    await post(bytesOf(posted, idFor('leg')))
    await post(bytesOf({ ...posted, sent: posted.sent.replace(/"callStats":\{.*\}\}\},/, '') }, idFor('leg')))
    expect([await repairs('api'), await repairs('freeswitch')]).toEqual(before.map((count) => count + 1))
  })

  it('is rated by the number that was called although a control character is in it', async () => {
    const id = idFor('paid')
    const to = '+4930\u000112345678@acme.test'
    const record = {
      call_id: id,
      timestamp: 63_934_785_600,
      to,
      custom_channel_vars: { account_id: world.acme.id },
    }
    expect((await world.operator.put('/v2/cdrs', [record])).data).toMatchObject({ accepted: 1 })
    const { record: stored } = await storedWith(id)
    expect(stored.to).toBe('+4930 12345678@acme.test')
    expect(ratedNumber({ call_id: id, ...stored })).toBe('+493012345678')
  })
})
