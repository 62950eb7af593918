import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  convertCall,
  createJoins,
  isLoose,
  type LooseLeg,
  saidLegOf,
} from '../../import-kazoo/conversions/call-records.rules.ts'
import { createFindings, joinFindings, shownOfCode } from '../../import-kazoo/report/report.ts'
import { storedCallId, withoutSecrets } from '../../src/areas/calls/cdrs/intake/rules.ts'
import { Cdr } from '../../src/areas/calls/cdrs/schema.ts'
import { createValidation } from '../../src/http/request/validation.ts'
import type { Json } from '../../src/lib/json.ts'
import { dropNulls } from '../../src/lib/json-merge.ts'
import { anyCalls, databaseOf, documentOf } from '../support/kazoo/kazoo-calls.ts'

const accountId = 'ab'.repeat(16)
const other = 'cd'.repeat(16)
const database = databaseOf(accountId, 202502)
// 2025-02-25T10:55:31Z
const ended = 63_907_700_131
const began = ended - 30
const channelTime = (began - 62_167_219_200) * 1_000_000

const version5: Json = {
  _id: '202502-6f0c@10.1.2.3',
  _rev: '1-abc',
  pvt_type: 'cdr',
  pvt_vsn: '3',
  pvt_created: ended,
  call_id: '6f0c@10.1.2.3',
  call_direction: 'inbound',
  interaction_id: `${began}-5ab1c09d`,
  interaction_time: began,
  interaction_key: '5ab1c09d',
  timestamp: ended,
  channel_created_time: channelTime,
  duration_seconds: 30,
  billing_seconds: 24,
  custom_channel_vars: { account_id: accountId, account_billing: 'per_minute', rate: 120 },
}

const converted = (fields: Json, text?: string) =>
  convertCall(documentOf(fields, database, text), { accountId })

const legOf = (more: Json = {}, text?: string) => {
  const { outcome, notes, ...found } = converted({ ...version5, ...more }, text)
  if (outcome !== 'leg' || !('leg' in found)) throw new Error(JSON.stringify(notes))
  return { record: found.leg.record as Json, id: found.id, notes: notes.map(({ code }) => code) }
}

describe('A call record of Kazoo', () => {
  it('of version 5 becomes the record that intake takes', () => {
    const { pvt_type, pvt_vsn, pvt_created, _id, _rev, interaction_time, interaction_key, ...kept } = version5
    expect(converted(version5)).toEqual({
      outcome: 'leg',
      id: '202502-6f0c@10.1.2.3',
      leg: { accountId, record: kept },
      namesInteraction: true,
      notes: [],
    })
  })

  it('of the oldest form gets its numbers as numbers, and its interaction later', () => {
    const { interaction_id, interaction_time, interaction_key, custom_channel_vars, pvt_vsn, ...old } =
      version5
    const fields = {
      ...old,
      duration_seconds: '30',
      billing_seconds: '24',
      ringing_seconds: '',
      timestamp: `${ended}`,
    }
    expect(convertCall(documentOf(fields, database), { accountId })).toEqual({
      outcome: 'leg',
      id: '202502-6f0c@10.1.2.3',
      namesInteraction: false,
      leg: {
        accountId,
        record: {
          call_id: '6f0c@10.1.2.3',
          call_direction: 'inbound',
          timestamp: ended,
          channel_created_time: channelTime,
          duration_seconds: 30,
          billing_seconds: 24,
          custom_channel_vars: { account_id: accountId },
        },
      },
      notes: [],
    })
  })

  it('of the oldest form joins only an interaction of the same month: its id has the month', () => {
    const { interaction_id, interaction_time, interaction_key, ...old } = version5
    const joinedTo = (time: number) => {
      const joins = { interactionOf: () => ({ time, key: 'first' }) }
      const converted = convertCall(documentOf(old, database), { accountId, joins })
      return converted.outcome === 'leg'
        ? [converted.id, converted.leg.record.interaction_id]
        : [converted.outcome]
    }
    expect(joinedTo(began - 1)).toEqual(['202502-6f0c@10.1.2.3', `${began - 1}-first`])
    expect(joinedTo(began - 26 * 86_400)).toEqual(['202502-6f0c@10.1.2.3', undefined])
  })

  it('of which version 5 reported the time oddly ended when its channel says', () => {
    const { record, notes } = legOf({ timestamp: began - 5 })
    expect(record.timestamp).toBe(ended)
    expect(notes).toEqual(['call_timestamp_set'])
  })

  it.each([
    ['two seconds from the channel', { timestamp: ended + 2 }],
    ['of version 4.3', { timestamp: ended + 60, pvt_vsn: '2' }],
    ['without a version', { timestamp: ended + 60, pvt_vsn: null }],
    ['without a channel', { timestamp: ended + 60, channel_created_time: null }],
  ])('%s keeps its time', (_title, more) => {
    expect(legOf(more).record.timestamp).toBe((more as Json).timestamp)
  })

  it('whose channel began more than 27 days away begins at its end minus its duration', () => {
    const { record, notes } = legOf({ channel_created_time: channelTime - 28 * 86_400 * 1_000_000 })
    expect(record).not.toHaveProperty('channel_created_time')
    expect(record.timestamp).toBe(ended)
    expect(notes).toEqual(['call_channel_time_dropped'])
  })

  it('is in the month of its interaction, and the old id is reported', () => {
    const time = 63_905_500_799 // 2025-01-31T23:59:59Z
    const fields = { ...version5, interaction_id: `${time}-5ab1c09d`, interaction_time: time }
    const result = converted(fields)
    expect(result).toMatchObject({ outcome: 'leg', id: '202501-6f0c@10.1.2.3' })
    expect(result.notes).toEqual([
      {
        severity: 'repaired',
        code: 'call_record_moved',
        field: '_id',
        old: '202502-6f0c@10.1.2.3',
        new: '202501-6f0c@10.1.2.3',
      },
    ])
  })

  it('without a call id is named by its document', () => {
    expect(legOf({ call_id: null }).record.call_id).toBe('6f0c@10.1.2.3')
    expect(converted({ ...version5, call_id: null, _id: 'f'.repeat(32) })).toMatchObject({ outcome: 'aside' })
  })

  it('with a random id is named by start and call', () => {
    const { id, notes } = legOf({ _id: 'f'.repeat(32) })
    expect({ id, notes }).toEqual({ id: '202502-6f0c@10.1.2.3', notes: ['call_record_moved'] })
  })

  it('belongs to the account of its database', () => {
    const { record, notes } = legOf({ custom_channel_vars: { account_id: other } })
    expect(record.custom_channel_vars).toEqual({ account_id: accountId })
    expect(notes).toEqual(['call_record_of_other_account'])
    expect(legOf({ custom_channel_vars: null, pvt_account_id: other }).notes).toEqual([
      'call_record_of_other_account',
    ])
  })

  it('has the channel variables that version 5 keeps apart', () => {
    const { record } = legOf({
      pvt_owner_id: 'user',
      pvt_rate: 5,
      pvt_password: 'x',
      pvt_whatever: 'x',
      pvt_account_id: accountId,
    })
    expect(record.custom_channel_vars).toEqual({
      account_id: accountId,
      account_billing: 'per_minute',
      rate: 120,
      owner_id: 'user',
    })
    expect(record).not.toHaveProperty('pvt_owner_id')
  })

  it('keeps nothing that is private or secret', () => {
    const { record, notes } = legOf({
      cost: 9,
      pvt_node: 'x',
      sip_password: 'x',
      custom_channel_vars: { account_id: accountId, password: 'x', pvt_a: 1, auth_token: 'x', fetch_id: 'y' },
    })
    expect(record).toEqual({
      ...legOf().record,
      custom_channel_vars: { account_id: accountId, fetch_id: 'y' },
    })
    expect(notes).toEqual([])
  })

  it.each<[string, unknown, unknown, string[]]>([
    ['billing_seconds', '24', 24, []],
    ['billing_seconds', ' 24 ', 24, []],
    ['billing_seconds', '', undefined, []],
    ['billing_seconds', null, undefined, []],
    ['billing_seconds', -3, 0, ['call_number_negative']],
    ['billing_seconds', '-3', 0, ['call_number_negative']],
    ['billing_seconds', 24.9, 24, ['call_number_rounded']],
    ['billing_seconds', 'long', undefined, ['call_field_set_aside']],
    ['billing_seconds', [24], undefined, ['call_field_set_aside']],
    ['billing_seconds', 1e12, undefined, ['call_field_set_aside']],
    ['call_direction', '', undefined, []],
    ['call_direction', 'sideways', undefined, ['call_field_set_aside']],
    ['caller_id_number', 1001, '1001', []],
    ['caller_id_number', '', '', []],
    ['caller_id_number', { a: 1 }, undefined, ['call_field_set_aside']],
    ['channel_is_loopback', 'true', true, []],
    ['channel_is_loopback', 'maybe', undefined, ['call_field_set_aside']],
    ['custom_sip_headers', { 'X-Flat': 'a' }, { 'X-Flat': 'a' }, []],
    ['custom_sip_headers', { in: { 'X-A': 'a' } }, { in: { 'X-A': 'a' } }, []],
    ['custom_sip_headers', { in: { 'X A': 'a' } }, undefined, ['call_field_set_aside']],
    ['custom_application_vars', 'text', undefined, ['call_field_set_aside']],
    ['extended_data', { deep: [{ er: 1 }, null] }, { deep: [{ er: 1 }, null] }, []],
    ['extended_data', { gone: null, kept: { gone: null } }, { kept: {} }, []],
    ['recording_url', 'https://a.test/r.mp3', 'https://a.test/r.mp3', []],
    ['caller_id_name', 'Eve\r\n\tMallory', 'Eve Mallory', ['call_text_repaired']],
    ['local_sdp', 'v=0\r\no=-\r\n', 'v=0\r\no=-\r\n', []],
    ['call_id', 'a\tb', 'a\tb', ['call_record_moved']],
  ])('has %s %j as %j', (field, said, kept, codes) => {
    const { record, notes } = legOf({ [field]: said })
    expect(record[field]).toEqual(kept)
    expect(notes).toEqual(codes)
    const isAside = codes.includes('call_field_set_aside')
    expect(record.kazoo_import).toEqual(isAside ? { rejected: { [field]: said } } : undefined)
  })

  it('has variables that do not fit aside by their path', () => {
    const { record } = legOf({ custom_channel_vars: { rate: 'dear', resource_type: 'x', surcharge: '5' } })
    expect(record.custom_channel_vars).toEqual({ account_id: accountId, surcharge: 5 })
    expect(record.kazoo_import).toEqual({
      rejected: { 'custom_channel_vars.rate': 'dear', 'custom_channel_vars.resource_type': 'x' },
    })
  })

  it('has texts that every store keeps', () => {
    const { record, notes } = legOf({
      caller_id_name: 'a\0b\ud800c',
      'k\0y': { 'in\0ner': 'x\udc00' },
      callee_id_name: '\\u0000 ☎️',
    })
    expect(record).toMatchObject({
      caller_id_name: 'a\ufffdb\ufffdc',
      'k\ufffdy': { 'in\ufffdner': 'x\ufffd' },
      callee_id_name: '\\u0000 ☎️',
    })
    expect(notes).toEqual(['call_text_repaired'])
  })

  it('has the call ids of a record that comes in, so that different ones stay different', () => {
    const ids = ['a\0', 'a\ud800', 'a\ud801', `${'x'.repeat(255)}1`, `${'x'.repeat(255)}2`]
    const records = ids.map((id) => {
      const more = { call_id: id, other_leg_call_id: id, custom_channel_vars: { bridge_id: id } }
      return legOf(more).record
    })
    for (const [at, { call_id, other_leg_call_id, custom_channel_vars: vars }] of records.entries())
      expect([call_id, other_leg_call_id, (vars as Json).bridge_id]).toEqual(
        Array(3).fill(storedCallId(ids[at] ?? '')),
      )
    expect(new Set(records.map(({ call_id: id }) => id)).size).toBe(ids.length)
  })

  it('has nothing that JSON cannot hold', () => {
    const deep = `${'{"a":'.repeat(70)}1${'}'.repeat(70)}`
    const text = JSON.stringify({ ...version5, huge: 'HUGE', deep: 'DEEP', proto: 'PROTO' })
      .replace('"HUGE"', '[1e999]')
      .replace('"DEEP"', deep)
      .replace('"PROTO"', '{"__proto__":{"x":1},"kept":1}')
    const { record, notes } = legOf({}, text)
    expect(Object.keys(record.proto as object)).toEqual(['kept'])
    expect(record).not.toHaveProperty('huge')
    expect(record).not.toHaveProperty('deep')
    expect(notes).toEqual(['call_field_set_aside', 'call_field_set_aside'])
  })

  it.each([
    ['interaction_id', { interaction_id: `${began}-no good` }],
    ['call_id', { call_id: '', _id: 'nothing' }],
    [
      'timestamp',
      {
        timestamp: null,
        pvt_created: null,
        channel_created_time: null,
        interaction_id: null,
        interaction_time: null,
      },
    ],
    [
      'interaction_time',
      { interaction_id: null, interaction_time: null, channel_created_time: null, timestamp: 1e14 },
    ],
  ])('is kept aside when %s is missing or unusable', (field, more) => {
    expect(converted({ ...version5, ...more })).toEqual({
      outcome: 'aside',
      notes: [{ severity: 'left_out', code: 'call_record_refused', field, new: expect.any(String) }],
    })
  })

  it.each([true, 'true'])('that is deleted (%j) is gone', (pvt_deleted) => {
    expect(converted({ ...version5, pvt_deleted })).toEqual({ outcome: 'gone', notes: [] })
  })

  it('of any kind has the shape of the schema, and validation does not change it', () => {
    const validate = createValidation(Cdr)
    fc.assert(
      fc.property(anyCalls(ended), (calls) => {
        for (const fields of calls) {
          const result = converted(fields)
          if (result.outcome !== 'leg') continue
          const { record } = result.leg
          expect(withoutSecrets(record)).toEqual(record)
          expect(dropNulls(record)).toEqual(record)
          expect(validate(record)).toMatchObject({ problems: {}, value: record })
        }
      }),
      { numRuns: 300 },
    )
  })
})

describe('Legs without an interaction', () => {
  const leg = (callId: string, start: number, ...named: string[]): LooseLeg => ({ callId, start, named })

  const joined = (legs: readonly LooseLeg[]) => {
    const joins = createJoins()
    for (const one of legs) joins.learn(one)
    return joins
  }

  it('share the one of the leg that began first', () => {
    const joins = joined([leg('b', 12, 'a'), leg('a', 10), leg('c', 15, 'b'), leg('alone', 9, 'elsewhere')])
    expect(joins.interactionOf('a')).toBeUndefined()
    expect(joins.interactionOf('b')).toEqual({ time: 10, key: 'ca978112' })
    expect(joins.interactionOf('c')).toEqual({ time: 10, key: 'ca978112' })
    expect(joins.interactionOf('alone')).toBeUndefined()
    expect(joins.interactionOf('unknown')).toBeUndefined()
  })

  it('are not joined by a name that no leg has', () => {
    const joins = joined([leg('a', 10, 'x'), leg('b', 11, 'x')])
    expect(joins.interactionOf('b')).toBeUndefined()
  })

  it('have the interaction of legs that name one, the first of several', () => {
    const joins = joined([leg('a', 10, 'new'), leg('b', 11, 'a')])
    joins.attach({ callId: 'late', named: ['b'] }, { time: 8, key: 'late' })
    joins.attach({ callId: 'new', named: [] }, { time: 7, key: 'new' })
    expect(joins.interactionOf('a')).toEqual({ time: 7, key: 'new' })
    expect(joins.interactionOf('b')).toEqual({ time: 7, key: 'new' })
  })

  const callIds = ['a', 'b', 'c', 'd', 'e', 'f', 'g']
  const anyLegs = fc
    .tuple(
      ...callIds.map((callId) =>
        fc
          .tuple(fc.nat(3), fc.subarray([...callIds, 'x', 'y'], { maxLength: 2 }))
          .map(([start, named]) => leg(callId, start, ...named)),
      ),
    )
    .chain((legs) => fc.tuple(fc.constant(legs), fc.shuffledSubarray(legs, { minLength: legs.length })))

  it('belong together whatever order they come in', () => {
    fc.assert(
      fc.property(anyLegs, ([legs, shuffled]) => {
        const told = (all: readonly LooseLeg[]) => callIds.map((callId) => joined(all).interactionOf(callId))
        expect(told(shuffled)).toEqual(told(legs))
      }),
      { numRuns: 500 },
    )
  })

  it('are detected from their documents', () => {
    const { interaction_id, interaction_time, interaction_key, ...old } = version5
    const document = documentOf(
      { ...old, other_leg_call_id: 'x', custom_channel_vars: { bridge_id: 'y' } },
      database,
    )
    expect(isLoose(document)).toBe(true)
    expect(saidLegOf(document)).toEqual({
      callId: '6f0c@10.1.2.3',
      start: began,
      named: ['x', 'y'],
      interaction: undefined,
    })
    expect(saidLegOf(documentOf(version5, database))?.interaction).toEqual({ time: began, key: '5ab1c09d' })
  })
})

describe('Findings of a database', () => {
  it('are counted, and the first of each code are shown', () => {
    const collector = createFindings()
    for (let at = 0; at < 50; at += 1)
      collector.add({ database, id: `id-${at}`, severity: 'repaired', code: 'moved', old: 'a', new: 'b' })
    collector.add({ database, id: 'other', severity: 'left_out', code: 'refused', field: 'call_id' })
    const [moved, refused] = collector.counted()
    expect(moved).toMatchObject({ severity: 'repaired', code: 'moved', count: 50 })
    expect(moved?.shown).toHaveLength(shownOfCode)
    expect(moved?.shown[0]).toEqual({
      severity: 'repaired',
      code: 'moved',
      database,
      id: 'id-0',
      old: 'a',
      new: 'b',
    })
    expect(refused).toEqual({
      severity: 'left_out',
      code: 'refused',
      count: 1,
      shown: [{ severity: 'left_out', code: 'refused', database, id: 'other', field: 'call_id' }],
    })
  })

  it('of two parts are those of the whole', () => {
    const some = (from: number, to: number) => {
      const collector = createFindings()
      for (let at = from; at < to; at += 1)
        collector.add({ database, id: `id-${at}`, severity: 'repaired', code: at % 3 === 0 ? 'a' : 'b' })
      return collector.counted()
    }
    fc.assert(
      fc.property(fc.nat(80), fc.nat(80), (first, second) => {
        const byCode = (all: ReturnType<typeof some>) => Object.fromEntries(all.map((one) => [one.code, one]))
        expect(byCode(joinFindings(some(0, first), some(first, first + second)))).toEqual(
          byCode(some(0, first + second)),
        )
      }),
    )
  })
})
