import { describe, expect, it } from 'vitest'
import { convertCalls } from '../../import-kazoo/conversions/call-routing.rules.ts'
import { convertSettings } from '../../import-kazoo/conversions/settings.rules.ts'
import {
  convertAlert,
  convertTask,
  convertWebhook,
} from '../../import-kazoo/conversions/shared-databases.rules.ts'
import { declarationsOf } from '../../src/areas/assemble.ts'
import { areas } from '../../src/areas/index.ts'
import { typeNamesOf } from '../../src/events/events.ts'
import type { Json } from '../../src/lib/json.ts'
import { kazooDocument } from '../support/kazoo/kazoo-documents.ts'

const owner = 'c'.repeat(32)
const times = { pvt_created: 63_800_000_000, pvt_modified: 63_800_000_100 }
const context = { accounts: new Set([owner]), systemId: 'system', now: 63_900_000_000 }
const id = '1'.repeat(32)

const config = (_id: string, fields: Json) =>
  kazooDocument('system_config', { _id, pvt_type: 'config', ...fields })

describe('settings of a Kazoo', () => {
  it('are taken where they are followed here, converters in their order, secrets by name only', () => {
    const converters = { '^2$': { prefix: 'b' }, '^1$': { prefix: 'a' } }
    const [numbers, mail, ports, accounts, pair] = convertSettings(
      [
        config('number_manager', {
          default: { converters, carrier_modules: ['wnm_bandwidth'], port: 1 },
          'kazoo@node': { should_age: true },
        }),
        config('smtp_client', { default: { password: 'hush' } }),
        config('ecallmgr', { default: { acls: {} } }),
        config('crossbar.accounts', { default: { account_realm_suffix: 'sip.test' } }),
        config('accounts', { default: { default_timezone: 'UTC', master_account_id: owner } }),
      ],
      'system',
    )
    expect(JSON.stringify(numbers?.drafts[0]?.doc)).toBe(
      JSON.stringify({
        default: { carrier_modules: ['knm_bandwidth2'], e164_converters: converters },
        'kazoo@node': { should_age: true },
      }),
    )
    expect(mail).toMatchObject({
      outcome: 'skipped',
      drafts: [],
      findings: [{ code: 'set_again', id: 'smtp_client' }],
    })
    expect(JSON.stringify([mail?.drafts, mail?.findings])).not.toContain('hush')
    expect(ports).toMatchObject({ outcome: 'skipped', drafts: [], findings: [] })
    const doc = { default: { default_timezone: 'UTC', account_realm_suffix: 'sip.test' } }
    expect(accounts?.drafts).toMatchObject([
      { as: 'setting', accountId: 'system', id: 'crossbar.accounts', doc },
    ])
    expect(pair?.drafts).toEqual([])
  })
})

describe('an alert', () => {
  const alert = (fields: Json) =>
    convertAlert(
      kazooDocument('alerts', {
        _id: id,
        pvt_type: 'alert',
        pvt_account_id: owner,
        ...times,
        title: 'T',
        message: 'M',
        ...fields,
      }),
      context,
    )

  it.each([
    [[{ type: owner, value: 'admins' }], [{ type: owner, value: 'admins' }]],
    [
      [
        { type: 'account', value: 'descendants' },
        { type: 'user', value: 'admins' },
      ],
      [{ type: 'descendants', value: [owner, 'admins'] }],
    ],
    [[{ type: 'account', value: owner }], [{ type: owner, value: 'users' }]],
  ])('for %j is for %j', (to, expected) => {
    expect(alert({ to }).drafts[0]?.doc).toEqual({
      title: 'T',
      message: 'M',
      from: [{ type: 'account', value: owner }],
      to: expected,
    })
  })

  it('without a known recipient is kept, and an expired one is skipped', () => {
    expect(alert({ to: [{ type: 'moon', value: 'x' }] })).toMatchObject({
      outcome: 'kept',
      findings: [{ severity: 'needs_hand', code: 'alert_to_nobody', old: 'moon x' }],
    })
    expect(alert({ to: [{ type: 'all', value: 'all' }], expiration_date: context.now }).outcome).toBe(
      'skipped',
    )
  })
})

describe('a task', () => {
  const task = (fields: Json) =>
    convertTask(
      kazooDocument('tasks', {
        _id: 'a'.repeat(30),
        pvt_type: 'task',
        pvt_account_id: owner,
        ...times,
        ...fields,
      }),
      context,
    )

  it.each([
    [{ pvt_status: 'executing' }, 'internal_error'],
    [{ pvt_status: 'pending' }, 'stopped'],
    [{ pvt_status: 'partial' }, 'partial'],
    [{ pvt_started_at: 63_800_000_001 }, 'internal_error'],
    [{}, 'stopped'],
  ])('%j ends as %s', (fields, status) => {
    const { drafts, findings } = task(fields)
    expect(drafts[0]?.doc).toMatchObject({ status, account_id: owner, submit_timestamp: times.pvt_created })
    const isAsItWas = 'pvt_status' in fields && fields.pvt_status === 'partial'
    expect(findings.map(({ code }) => code)).toEqual(isAsItWas ? [] : ['task_ended'])
  })

  it('brings its files; of an account that does not come it is left out', () => {
    const _attachments = { 'in.csv': { content_type: 'text/csv', length: 9 } }
    const file = { role: 'input', name: 'in.csv', contentType: 'text/csv', length: 9 }
    expect(task({ _attachments }).drafts[0]?.files).toEqual([file])
    expect(task({ pvt_account_id: 'e'.repeat(32) })).toMatchObject({
      outcome: 'skipped',
      findings: [{ code: 'owner_gone' }],
    })
  })
})

describe('a webhook', () => {
  const webhook = (fields: Json) =>
    convertWebhook(
      kazooDocument('webhooks', {
        _id: id,
        pvt_type: 'webhook',
        pvt_account_id: owner,
        ...times,
        name: 'N',
        uri: 'https://x.test/?key=hush',
        ...fields,
      }),
      { ...context, typeNames: typeNamesOf(declarationsOf(areas)) },
    )

  it('is imported switched off, and reported without its address', () => {
    const { drafts, findings } = webhook({ hook: 'channel_create', enabled: true })
    expect(drafts[0]?.doc).toEqual({
      name: 'N',
      uri: 'https://x.test/?key=hush',
      hook: 'channel_create',
      enabled: false,
    })
    expect(findings).toMatchObject([{ severity: 'needs_hand', code: 'webhook_switched_off' }])
    expect(JSON.stringify(findings)).not.toContain('hush')
  })

  it('of an unknown kind is kept', () => {
    expect(webhook({ hook: 'skel' })).toMatchObject({
      outcome: 'kept',
      findings: [{ code: 'webhook_not_taken' }],
    })
  })
})

describe('what happens to calls', () => {
  const document = (_id: string, pvt_type: string, fields: Json) =>
    kazooDocument('a', { _id, pvt_type, ...times, ...fields })
  const flow = { module: 'device', data: {}, children: {} }

  it('becomes records; of two callflows with one number the older has it, and what is no record is kept', () => {
    const found = convertCalls(
      [
        document('2', 'callflow', { numbers: ['4155550100', '2001'], flow, pvt_created: 63_800_000_050 }),
        document('1', 'callflow', { numbers: ['+14155550100'], flow, metadata: {}, ui_metadata: { a: 1 } }),
        document('3', 'callflow', { numbers: ['1'], flow: {} }),
        document('4', 'group', { name: 'G', endpoints: { [owner]: { type: 'user' } } }),
        document('5', 'group', { name: 'G', endpoints: { ann: { type: 'user' } } }),
        document('6', 'sys_info', { servers: [{ auth: { auth_user: 'u' }, DIDs: { '4155550101': {} } }] }),
        document('7', 'menu', {}),
      ],
      { accountId: owner, realm: 'c.test' },
    )
    const by = new Map(found.map((one) => [one.document.id, one]))
    expect(by.get('1')?.drafts[0]).toMatchObject({ as: 'callflow', id: '1' })
    expect(by.get('1')?.drafts[0]?.doc).toEqual({ numbers: ['+14155550100'], flow, ui_metadata: { a: 1 } })
    expect(by.get('2')?.drafts[0]?.doc).toEqual({ numbers: ['2001'], flow })
    expect(by.get('2')?.findings).toMatchObject([{ code: 'callflow_number_taken', old: '+14155550100' }])
    expect(by.get('4')?.drafts[0]).toMatchObject({ as: 'group' })
    expect(by.get('6')?.drafts[0]?.doc).toEqual({
      servers: [{ auth: { auth_user: 'u' }, DIDs: { '+14155550101': {} } }],
    })
    expect(['3', '5', '7'].map((one) => by.get(one)?.outcome)).toEqual(['kept', 'imported', 'kept'])
    expect(by.get('3')?.findings).toMatchObject([{ code: 'record_not_taken', field: 'flow' }])
  })
})
