// Records of ours as the documents of a Kazoo.
import { hash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { exportAccount, exportMaster } from '../../import-kazoo/conversions/accounts.rules.ts'
import { exportNotice } from '../../import-kazoo/conversions/brand.rules.ts'
import { exportLimits } from '../../import-kazoo/conversions/limits.rules.ts'
import { exportNumber, isPassing } from '../../import-kazoo/conversions/numbers.rules.ts'
import { exportWithLimits } from '../../import-kazoo/conversions/packet-limits.rules.ts'
import { exportUser } from '../../import-kazoo/conversions/people.rules.ts'
import { preservedText } from '../../import-kazoo/conversions/preserved.rules.ts'
import { exportRate } from '../../import-kazoo/conversions/pricing.rules.ts'
import { exportServices, servicesLeft } from '../../import-kazoo/conversions/services.rules.ts'
import { accountsSetting, exportSetting } from '../../import-kazoo/conversions/settings.rules.ts'
import { exportAlert, exportTask } from '../../import-kazoo/conversions/shared-databases.rules.ts'
import { firstRevision, type OwnRecord, textOf } from '../../import-kazoo/export/document.ts'
import { exportBrand, plainExports } from '../../import-kazoo/export/kinds.ts'
import {
  exportAudit,
  exportCall,
  exportEntry,
  exportStock,
  exportTransaction,
  exportUse,
} from '../../import-kazoo/export/rows.sql.ts'
import type { Json } from '../../src/lib/json.ts'

const accountId = `aabb${'c'.repeat(28)}`
const id = '1'.repeat(32)
const masterId = 'd'.repeat(32)
const [created, modified] = [63_800_000_000, 63_800_000_100]
const database = `account/aa/bb/${'c'.repeat(28)}`
const encoded = `account%2Faa%2Fbb%2F${'c'.repeat(28)}`

const record = (doc: Json, more: Partial<OwnRecord> = {}): OwnRecord => ({
  ...{ accountId, id, created, modified, doc, hidden: {} },
  ...more,
})

const stamps = (type: string, of = accountId, within = encoded) => ({
  pvt_type: type,
  pvt_account_id: of,
  pvt_account_db: within,
  pvt_created: created,
  pvt_modified: modified,
  pvt_vsn: '1',
})

describe('a leaving document', () => {
  it('has the same first revision whenever it leaves, and its files within', () => {
    const document = {
      ...{ database, id: 'x', type: 'x', fields: { name: 'X' } },
      files: [{ name: 'template.text/html', contentType: 'text/html', bytes: Buffer.from('<p>') }],
    }
    const text = textOf(document)
    const { _rev: rev, ...others } = JSON.parse(text)
    expect(rev).toMatch(/^1-[0-9a-f]{32}$/)
    expect(others).toEqual({
      _id: 'x',
      name: 'X',
      _attachments: {
        'template.text/html': {
          content_type: 'text/html',
          revpos: 1,
          digest: `md5-${hash('md5', '<p>', 'base64')}`,
          data: 'PHA+',
        },
      },
    })
    expect(textOf(document)).toBe(text)
  })
})

describe('a leaving account', () => {
  const hidden = {
    tree: [masterId],
    isReseller: false,
    isSuperduper: true,
    allowsNumberAdditions: false,
    enabled: true,
    signatureSecret: 'secret of signatures',
    signInSalt: 'salt',
    sealedApiKey: 'sealed',
    apiKeyHash: 'hash',
    nameClaim: 'acme',
  }

  it('is in its own database and among the copies, and its packet limits are a separate document', () => {
    const limits = { account: { per_minute: { invites: 3 } } }
    const [own, copy, packets] = exportAccount(
      record({ name: 'Acme', realm: 'acme.test', rate_limits: limits }, { id: accountId, hidden }),
      { resellerId: masterId, apiKey: 'k'.repeat(64) },
    )
    expect(own).toEqual({
      ...{ database, id: accountId, type: 'account', files: [] },
      fields: {
        name: 'Acme',
        realm: 'acme.test',
        ...stamps('account'),
        pvt_tree: [masterId],
        pvt_reseller: false,
        pvt_reseller_id: masterId,
        pvt_enabled: true,
        pvt_superduper_admin: true,
        pvt_wnm_allow_additions: false,
        pvt_api_key: 'k'.repeat(64),
      },
    })
    expect(copy).toEqual({ ...own, database: 'accounts', type: 'account (copy)' })
    expect(packets?.fields).toEqual({
      ...limits,
      ...stamps('rate_limits'),
      pvt_owner_id: accountId,
      pvt_owner_type: 'accounts',
    })
  })

  it('is named where a Kazoo looks for its master', () => {
    const master = exportMaster(record({}, { accountId: masterId }), {
      default: { default_timezone: 'UTC' },
    })
    expect(master).toMatchObject({
      ...{ database: 'system_config', id: 'accounts' },
      fields: { default: { default_timezone: 'UTC', master_account_id: masterId }, pvt_type: 'config' },
    })
  })
})

describe('leaving people', () => {
  it('are users without a password, who may sign in unless they are switched off', () => {
    const hidden = { signInKeys: ['key'], signatureSecret: 'secret', passwordChanged: 5 }
    const photo = { name: 'x', contentType: 'image/png', bytes: Buffer.from('p') }
    const [user] = exportUser(record({ username: 'ann', priv_level: 'admin' }, { hidden }), photo)
    expect(user).toEqual({
      ...{ database, id, type: 'user', files: [{ ...photo, name: 'photo' }] },
      fields: {
        username: 'ann',
        priv_level: 'admin',
        ...stamps('user'),
        enabled: true,
        require_password_update: true,
        pvt_password_timestamp: 5,
      },
    })
    expect(exportUser(record({ enabled: false }), undefined)[0]?.fields.enabled).toBe(false)
  })

  it('are phones with what they sign in with', () => {
    const sip = { username: 'phone', password: 'in clear' }
    const [device, packets] = exportWithLimits(
      'device',
      record({ name: 'P', sip, rate_limits: { per_second: { invites: 1 } } }),
    )
    expect(device?.fields).toEqual({ name: 'P', sip, ...stamps('device') })
    expect(packets?.fields).toMatchObject({
      ...{ per_second: { invites: 1 }, pvt_owner_id: id, pvt_owner_type: 'devices' },
    })
    expect(exportWithLimits('device', record({ name: 'P' }))).toHaveLength(1)
  })

  it('are brands, senders, notices, providers and restrictions', () => {
    const logo = { name: 'logo-a.png', contentType: 'image/png', bytes: Buffer.from('l') }
    expect(exportBrand(record({ domain: 'a.test' }), [logo])).toEqual([
      {
        ...{ database, id: 'whitelabel', type: 'whitelabel', files: [logo] },
        fields: { domain: 'a.test', ...stamps('whitelabel') },
      },
    ])
    const [sender] = plainExports.whitelabel_email(
      record({ email: 'a@a.test' }, { hidden: { key: 'sealed' } }),
    )
    expect(sender?.fields).toEqual({ email: 'a@a.test', ...stamps('whitelabel_email'), verified: false })
    const notice = exportNotice(
      record({ subject: 'S' }, { id: 'new_user', hidden: { html: '<p>', text: 'T' } }),
    )
    expect(notice).toMatchObject({ id: 'notification.new_user', fields: { subject: 'S' } })
    expect(notice.files.map(({ name, bytes }) => [name, bytes.toString()])).toEqual([
      ['template.text/html', '<p>'],
      ['template.text/plain', 'T'],
    ])
    expect(plainExports.multi_factor(record({ name: 'O', provider_name: 'otp' }))[0]?.fields).toMatchObject({
      ...{ pvt_type: 'provider', pvt_provider_type: 'multi_factor', provider_name: 'otp' },
    })
    expect(plainExports.token_restrictions(record({ restrictions: {} }))[0]).toMatchObject({
      id: 'token_restrictions',
    })
  })

  it('have limits whose amounts are units, for a whole number there means these', () => {
    const operator = { max_postpay_amount: 5, allow_postpay: true, bundled_twoway_trunks: 'device' }
    const [limits] = exportLimits(record({ twoway_trunks: 2 }, { id: accountId }), operator)
    expect(limits).toEqual({
      ...{ database, id: 'limits', type: 'limits', files: [] },
      fields: {
        twoway_trunks: 2,
        ...stamps('limits'),
        pvt_max_postpay_amount: 50_000,
        pvt_allow_postpay: true,
        pvt_bundled_twoway_trunks: 'device',
      },
    })
  })
})

describe('leaving numbers', () => {
  const state = { state: 'in_service', carrier: 'knm_local', usedBy: 'callflow' }
  const number = record(
    { cnam: { display_name: 'Acme' } },
    { id: '+14155550100', hidden: { features: { local: {} }, reserveHistory: [accountId], isHearsay: true } },
  )

  it('stand in their shard, and as a copy at their owner', () => {
    const [own, copy] = exportNumber(number, state)
    expect(own).toEqual({
      ...{ database: 'numbers/+1415', id: '+14155550100', type: 'number', files: [] },
      fields: {
        cnam: { display_name: 'Acme' },
        pvt_type: 'number',
        pvt_db_name: 'numbers%2F%2B1415',
        pvt_created: created,
        pvt_modified: modified,
        pvt_vsn: '1',
        pvt_state: 'in_service',
        pvt_module_name: 'knm_local',
        pvt_assigned_to: accountId,
        pvt_used_by: 'callflow',
        pvt_features: { local: {} },
        pvt_reserve_history: [accountId],
      },
    })
    expect(copy).toEqual({ ...own, database, type: 'number (copy)' })
  })

  it('without an owner have no copy, those in deletion are left out, and stock is in its pool', () => {
    const free = exportNumber({ ...number, accountId: '' }, { ...state, state: 'available', usedBy: '' })
    expect(free).toHaveLength(1)
    expect(free[0]?.fields).not.toHaveProperty('pvt_assigned_to')
    expect(['deleted', 'discovery', 'aging'].map((one) => isPassing({ state: one }))).toEqual([
      true,
      true,
      false,
    ])
    const entry = { accountId, carrier: 'knm_managed', number: '+14155550100', takenBy: '' }
    expect(exportStock(entry)[0]).toMatchObject({
      database: 'numbers/managed',
      fields: { pvt_assigned_to: accountId, pvt_state: 'available' },
    })
    expect(exportStock({ ...entry, takenBy: accountId })[0]?.fields.pvt_state).toBe('in_service')
    expect(exportStock({ ...entry, carrier: 'knm_local' })).toEqual([])
  })
})

describe('leaving money', () => {
  const row = {
    ...{ accountId, id: '202502-9e1c', created, month: 202502, amount: -1200 },
    ...{ service: 'per-minute-voip', sourceId: 'call', usageType: 'voice', usageQuantity: 60 },
    ...{ usageUnit: 'sec', forAccountId: accountId, details: { description: 'D' } },
  }

  it('is entries without a sign, each in the database of its month', () => {
    expect(exportEntry(row)).toEqual({
      ...{ database: `${database}-202502`, id: '202502-9e1c', type: 'ledger', files: [] },
      fields: {
        account: { id: accountId },
        description: 'D',
        source: { service: 'per-minute-voip', id: 'call' },
        usage: { type: 'voice', quantity: 60, unit: 'sec' },
        amount: 1200,
        pvt_ledger_type: 'debit',
        ...stamps('ledger', accountId, `${encoded}-202502`),
        pvt_modified: created,
      },
    })
    const carried = exportEntry({ ...row, amount: 0, details: { reckoned: true } })
    expect(carried.fields).toMatchObject({ amount: 0, pvt_ledger_type: 'credit' })
    expect(carried.fields).not.toHaveProperty('reckoned')
  })

  it('is transactions without what a gateway here knows', () => {
    const doc = {
      ...{ account: { id: accountId, name: 'Acme' }, description: 'Card', currency: 'USD' },
      bookkeeper: { id: 'b', type: 'iou', vendor_id: masterId },
      means: { token: 'tok', last_four: '4242' },
      result: { status: 'succeeded', id: 'ch_1' },
    }
    const transaction = { ...{ accountId, id: '202502-ab', created, type: 'sale', amount: 500 }, doc }
    const left = exportTransaction({ ...transaction, status: 'unknown' })
    expect(left.fields).toEqual({
      account: { id: accountId, name: 'Acme' },
      description: 'Card',
      amount: 500,
      status: 'pending',
      bookkeeper: { ...doc.bookkeeper, results: [doc.result] },
      pvt_transaction_type: 'sale',
      ...stamps('transaction', accountId, `${encoded}-202502`),
      pvt_modified: created,
    })
  })

  it('is what changed on invoices, and what of allotments was used', () => {
    const doc = { audit: {}, invoice: { items: [] }, bookkeeper: { id: 'b', type: 't', vendor_id: masterId } }
    const audit = { accountId, id: '202502-cd', created, status: 'failed', doc }
    expect(exportAudit({ ...audit, outcome: { reason: 'R', results: [{ code: 1 }] } }).fields).toMatchObject({
      ...{ status: 'failed', reason: 'R', bookkeeper: { ...doc.bookkeeper, results: [{ code: 1 }] } },
    })
    expect(exportAudit({ ...audit, outcome: undefined }).fields.bookkeeper).toEqual({
      ...doc.bookkeeper,
      results: [],
    })
    const use = exportUse({ accountId, allotment: 'did_us', minute: created, seconds: 90 }, 202109)
    expect(use.id).toMatch(/^202109-[0-9a-f]{32}$/)
    expect(use.fields).toMatchObject({ classification: 'did_us', seconds: 90, pvt_created: created })
  })

  it('is what accounts are sold, with the counts of what they have', () => {
    const counts = { account: { users: { admin: 1 } }, cascade: {} }
    const sold = { tree: [masterId], resellerId: masterId, isReseller: false, counts }
    const doc = {
      plans: { p: { vendor_id: masterId, overrides: {} } },
      manual: { support: { hours: 2 } },
      status: 'delinquent',
      customers: { 'stripe/x': 'cus_1' },
    }
    expect(exportServices(record(doc), sold).fields).toEqual({
      plans: doc.plans,
      quantities: { ...counts, manual: doc.manual },
      billing_id: accountId,
      ...stamps('service', accountId, 'services'),
      pvt_vsn: '2',
      pvt_tree: [masterId],
      pvt_reseller_id: masterId,
      pvt_is_reseller: false,
      pvt_status: 'delinquent',
    })
    expect(servicesLeft(doc)).toEqual(['customers'])
  })
})

describe('a leaving call record', () => {
  it('is in the month of its interaction, in the form of 4.3', () => {
    const document = {
      ...{ id: '202502-a@b/ü', call_id: 'a@b/ü', timestamp: created, interaction_id: '63800000000-abc' },
      custom_channel_vars: { account_id: accountId, rate: 120 },
    }
    const { id: _, ...fields } = document
    expect(exportCall({ accountId, id: document.id, document })).toEqual({
      ...{ database: `${database}-202502`, id: '202502-a@b/ü', type: 'cdr', files: [] },
      fields: {
        ...fields,
        ...stamps('cdr', accountId, `${encoded}-202502`),
        pvt_modified: created,
        pvt_vsn: '2',
      },
    })
  })
})

describe('what leaves of databases that all share', () => {
  it('is alerts that an account wrote, and none that the server has made', () => {
    const doc = { title: 'T', from: [{ type: 'account', value: accountId }] }
    expect(exportAlert(record(doc, { accountId: 'system' }), masterId)).toEqual([
      {
        ...{ database: 'alerts', id, type: 'alert', files: [] },
        fields: { ...doc, ...stamps('alert', accountId, 'alerts') },
      },
    ])
    expect(exportAlert(record({ from: [] }), masterId)[0]?.fields.pvt_account_id).toBe(masterId)
    expect(exportAlert(record(doc, { hidden: { cause: 'low_balance/x' } }), masterId)).toEqual([])
  })

  it('is webhooks as they are', () => {
    const hook = record(
      { enabled: true, uri: 'https://a.test' },
      { hidden: { after: 4, disableReason: 'R' } },
    )
    expect(plainExports.webhook(hook)[0]).toEqual({
      ...{ database: 'webhooks', id, type: 'webhook', files: [] },
      fields: {
        ...{ enabled: true, uri: 'https://a.test', pvt_disabled_message: 'R' },
        ...stamps('webhook', accountId, 'webhooks'),
      },
    })
  })

  it('is tasks of which none starts', () => {
    const doc = { category: 'c', action: 'a', status: 'executing', submit_timestamp: 1, success_count: 2 }
    const [task] = exportTask(record(doc), { input: Buffer.from('in'), output: undefined })
    expect(task).toEqual({
      ...{ database: 'tasks', id, type: 'task' },
      files: [{ name: 'in.csv', contentType: 'text/csv', bytes: Buffer.from('in') }],
      fields: {
        ...stamps('task', accountId, 'tasks'),
        pvt_category: 'c',
        pvt_action: 'a',
        pvt_status: 'internal_error',
        pvt_submitted_at: 1,
        pvt_total_rows_succeeded: 2,
      },
    })
    const none = { input: undefined, output: undefined }
    expect(exportTask(record({ status: 'pending' }), none)[0]?.fields.pvt_status).toBe('stopped')
    expect(exportTask(record({ status: 'success' }), none)[0]?.fields.pvt_status).toBe('success')
  })

  it('is rates in the database of their deck', () => {
    const databaseOf = (doc: Json) => exportRate(record(doc), masterId)[0]?.database
    expect(databaseOf({ prefix: 49 })).toBe('ratedeck')
    expect(databaseOf({ prefix: 49, ratedeck_id: 'ratedeck' })).toBe('ratedeck')
    expect(databaseOf({ prefix: 49, ratedeck_id: 'gold' })).toBe('ratedeck/gold')
  })

  it('is settings that both systems use, and notices for all accounts', () => {
    const settings = record(
      { default: { should_age: true, telnyx_api_key: 'k', own: 1 }, node: { own: 2 } },
      { id: 'number_manager', accountId: 'system' },
    )
    expect(exportSetting(settings, masterId)[0]?.fields).toEqual({
      default: { should_age: true },
      ...stamps('config', masterId, 'system_config'),
    })
    expect(exportSetting({ ...settings, id: 'mail' }, masterId)).toEqual([])
    expect(
      accountsSetting({ default: { default_timezone: 'UTC', account_realm_suffix: 'x' }, node: {} }),
    ).toEqual({ default: { default_timezone: 'UTC' } })
    expect(exportNotice(record({}, { accountId: 'system', id: 'new_user' }), masterId)).toMatchObject({
      ...{ database: 'system_config', id: 'notification.new_user', fields: { pvt_account_id: masterId } },
    })
  })
})

describe('a kept document', () => {
  it('leaves as it came, to the letter', () => {
    const text = '{"_id":"a","_rev":"3-abc", "price":5.0,"name":"\\u00e9"}'
    expect(preservedText(text, [])).toBe(text)
  })

  it('has a revision in any case, the files that are here and no others', () => {
    expect(preservedText('{"_id":"a","price":5.0}', [])).toBe(
      `{"_id":"a","_rev":"${firstRevision('{"_id":"a","price":5.0}')}","price":5.0}`,
    )
    const text =
      '{"_id":"a","_rev":"3-abc","price":5.0,"_attachments":{"here":{"revpos":2,"stub":true},"gone":{"stub":true}}}'
    expect(preservedText(text, [{ name: 'here', contentType: 'text/plain', bytes: Buffer.from('h') }])).toBe(
      `{"_id":"a","_rev":"3-abc","price":5.0,"_attachments":{"here":{"content_type":"text/plain","revpos":2,"digest":"md5-${hash('md5', 'h', 'base64')}","data":"aA=="}}}`,
    )
    expect(preservedText(text, [])).toBe('{"_id":"a","_rev":"3-abc","price":5.0}')
  })
})
