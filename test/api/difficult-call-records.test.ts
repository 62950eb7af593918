// The corpora of test/data/call-records: each case has the text that is sent, and the stored record or the reason of the rejection.
import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { ratedNumber } from '../../src/areas/cdrs/billing/rules.ts'
import type { Json } from '../../src/lib/json.ts'
import { storedCdrs } from '../support/stored-cdrs.ts'
import { describeAnyEngine, useWorld } from '../support/world.ts'

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
