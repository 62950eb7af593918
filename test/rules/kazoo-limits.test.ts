// Limits, rates and audits of Kazoo.
import { describe, expect, it } from 'vitest'
import { convertLimits } from '../../import-kazoo/conversions/limits.rules.ts'
import { convertRate } from '../../import-kazoo/conversions/pricing.rules.ts'
import { convertAudit, createDays } from '../../import-kazoo/conversions/service-usage.rules.ts'
import type { Json } from '../../src/lib/json.ts'
import { documentOf, documentOfText } from '../support/kazoo/kazoo-texts.ts'

const accountId = 'aabb00000000000000000000000000c1'
const database = `account/aa/bb/${accountId.slice(4)}`
const made = 63_907_700_101

describe('limits of Kazoo', () => {
  const limits = (text: string, id = 'limits') =>
    documentOfText(database, `{"_id":"${id}","pvt_type":"limits","pvt_created":${made},${text}}`)

  it('are what the account wants and what its operator allows', () => {
    const document = limits(
      `"twoway_trunks":5,"inbound_trunks":-1,"allow_prepay":true,"allow_postpay":true,"note":"x",
       "pvt_enabled":true,"pvt_calls":10,"pvt_bundled_inbound_trunks":"devices","pvt_allow_postpay":"true",
       "pvt_max_postpay_amount":-5.0,"pvt_reserve_amount":5,"pvt_soft_limit_inbound":false,
       "pvt_allotments":{"did_us":{"amount":600,"cycle":"monthly"}},"pvt_discounts":{}`,
    )
    const [converted, ...others] = convertLimits([document], accountId)
    expect(others).toEqual([])
    const place = { accountId, id: accountId, created: made, modified: made, facts: {}, files: [] }
    expect(converted).toEqual({
      document,
      outcome: 'imported',
      findings: [],
      drafts: [
        {
          as: 'limits',
          ...place,
          doc: { twoway_trunks: 5, inbound_trunks: -1, allow_prepay: true, note: 'x' },
        },
        {
          as: 'operator_limits',
          ...place,
          doc: {
            calls: 10,
            enabled: true,
            allow_postpay: true,
            soft_limit_inbound: false,
            bundled_inbound_trunks: 'device',
            max_postpay_amount: 5,
            reserve_amount: 0.0005,
            allotments: { did_us: { amount: 600, cycle: 'monthly' } },
          },
        },
      ],
    })
  })

  it.each([
    ['5.0', 5],
    ['5', 0.0005],
    ['5e0', 5],
    ['-20.25', 20.25],
    ['-100000', 10],
    ['0.00005', 0.0001],
  ])('have amounts that are written as %s', (written, dollars) => {
    const [converted] = convertLimits([limits(`"pvt_max_postpay_amount":${written}`)], accountId)
    expect(converted?.drafts[1]?.doc).toEqual({ max_postpay_amount: dollars })
  })

  it('are the newest ones of several, and tell what is not taken over', () => {
    const old = limits('"twoway_trunks":1', '00aa')
    const now = limits(
      `"twoway_trunks":2,"pvt_modified":${made + 5},"pvt_inbound_channels_per_did_rules":{"a":1}`,
    )
    const gone = limits('"twoway_trunks":3,"pvt_deleted":true', '00ab')
    expect(
      convertLimits([old, now, gone], accountId).map(({ outcome, drafts, findings }) => ({
        outcome,
        docs: drafts.map(({ doc }) => doc),
        codes: findings.map(({ code }) => code),
      })),
    ).toEqual([
      { outcome: 'imported', docs: [{ twoway_trunks: 2 }], codes: ['channels_per_number_left_out'] },
      { outcome: 'skipped', docs: [], codes: ['limits_superseded'] },
      { outcome: 'skipped', docs: [], codes: [] },
    ])
  })
})

describe('rates of Kazoo', () => {
  const rate = (fields: Json, deck = 'ratedeck', id = 'US-1415') =>
    documentOf(deck, {
      _id: id,
      pvt_type: 'rate',
      pvt_created: made,
      prefix: 1415,
      rate_cost: 0.02,
      ...fields,
    })

  it('are rates of the deck whose database they are in (57)', () => {
    const document = rate({
      prefix: '1415',
      rate_cost: '0.0123',
      pvt_internal_rate_cost: '0.005',
      rate_increment: '6',
      rate_minimum: 30,
      direction: 'outbound',
      routes: '^\\+?1415.+$',
      options: ['fax'],
      weight: 10,
      ratedeck_id: 'another',
      colour: 'blue',
    })
    expect(convertRate(document)).toEqual({
      document,
      outcome: 'imported',
      findings: [],
      drafts: [
        {
          as: 'rate',
          accountId: 'system',
          id: 'US-1415',
          created: made,
          modified: made,
          doc: {
            colour: 'blue',
            prefix: 1415,
            rate_cost: 0.0123,
            internal_rate_cost: 0.005,
            rate_increment: 6,
            rate_minimum: 30,
            weight: 10,
            direction: ['outbound'],
            routes: ['^\\+?1415.+$'],
            options: ['fax'],
            ratedeck_id: 'ratedeck',
          },
          facts: {},
          files: [],
        },
      ],
    })
  })

  it('lose routes that cannot be read, and tell so (58)', () => {
    const { drafts, findings } = convertRate(rate({ routes: ['^\\+1(?=4)', '^\\+1415'] }))
    expect(drafts[0]?.doc.routes).toEqual(['^\\+1415'])
    expect(findings).toMatchObject([{ code: 'route_unreadable', field: 'routes.0', old: '^\\+1(?=4)' }])
  })

  it('are as fine as they are written, up to eight decimals', () => {
    expect(convertRate(rate({ rate_cost: 0.00000123 })).drafts[0]?.doc.rate_cost).toBe(0.00000123)
    const { drafts, findings } = convertRate(rate({ rate_cost: '0.0123456789' }))
    expect(drafts[0]?.doc.rate_cost).toBe(0.01234568)
    expect(findings).toMatchObject([{ code: 'rate_rounded', old: '0.0123456789', new: '0.01234568' }])
  })

  it.each([
    ['prefix', { prefix: '+1415' }],
    ['prefix', { prefix: '01415' }],
    ['prefix', { prefix: '' }],
    ['rate_cost', { rate_cost: 'free' }],
  ])('are left out without a %s', (field, fields) => {
    expect(convertRate(rate(fields))).toMatchObject({
      outcome: 'rejected',
      drafts: [],
      findings: [{ severity: 'left_out', code: 'rate_unreadable', field }],
    })
  })

  it('that were deleted are skipped (59); those of further decks have separate ids', () => {
    expect(convertRate(rate({ pvt_deleted: true }))).toMatchObject({ outcome: 'skipped', drafts: [] })
    const [gold, silver] = ['ratedeck/gold', 'ratedeck/silver'].map(
      (deck) => convertRate(rate({}, deck)).drafts[0],
    )
    expect(gold?.doc.ratedeck_id).toBe('gold')
    expect(gold?.id).toMatch(/^[0-9a-f]{32}$/)
    expect(gold?.id).not.toBe(silver?.id)
  })
})

describe('audits of Kazoo', () => {
  const account = { id: accountId, name: 'Acme' }

  const entry = (fields: Json) =>
    documentOf(`${database}-202502`, {
      _id: '202502-ab',
      pvt_type: 'audit_log',
      pvt_created: made,
      ...fields,
    })

  it('are entries with what changed; what was waiting has failed', () => {
    const document = entry({
      status: 'pending',
      audit: { changes: { type: 'account' }, request: { id: 'r' } },
      invoice: { items: [], summary: { today: 0, recurring: 5 } },
      bookkeeper: { id: 'b', type: 'braintree', vendor_id: accountId, results: [{ card: '4242' }] },
    })
    expect(convertAudit(document, account).drafts).toEqual([
      {
        as: 'service_audit',
        accountId,
        id: '202502-ab',
        created: made,
        modified: made,
        doc: {
          status: 'failed',
          reason: 'unknown_at_import',
          audit: {
            account,
            request: { id: 'r' },
            changes: { type: ['account'], account_id: accountId, account_name: 'Acme' },
          },
          invoice: { items: [], summary: { today: 0, recurring: 5 } },
          bookkeeper: { id: 'b', type: 'braintree', vendor_id: accountId, results: [] },
        },
        facts: {},
        files: [],
      },
    ])
  })

  it('add up to days, from either of their sources (69)', () => {
    const ofYear = createDays()
    const year = (id: string, at: number, audit: Json[]) =>
      documentOf(`${database}-2025`, { _id: id, pvt_created: at, audit })
    const row = { category: 'devices', source: 'sip_device' }
    ofYear.add(year('2', made + 60, [{ ...row, quantity: -1, billable: 4 }]))
    ofYear.add(year('1', made, [{ ...row, quantity: 3, billable: 5 }]))
    ofYear.add(year('3', made + 86_400, [{ ...row, quantity: 2, billable: 6 }]))
    const days = ofYear.drafts(accountId)
    expect(days.map(({ facts, created }) => ({ ...facts, created }))).toEqual([
      {
        ...{ category: 'devices', item: 'sip_device', day: 20250225, addition: 3, removal: 1, quantity: 4 },
        created: made + 60,
      },
      {
        ...{ category: 'devices', item: 'sip_device', day: 20250226, addition: 2, removal: 0, quantity: 6 },
        created: made + 86_400,
      },
    ])
    // Newer ones name the item, and the account where it moved.
    const ofOthers = createDays()
    ofOthers.add(year('1', made, [{ category: 'users', item: 'admin', source: accountId, quantity: 1 }]))
    ofOthers.add(year('2', made, [{ category: 'users', source: accountId, quantity: 2 }]))
    expect(ofOthers.drafts(accountId).map(({ facts }) => [facts.item, facts.addition])).toEqual([
      ['admin', 1],
      ['users', 2],
    ])
    const ofEntries = createDays()
    const changed = (quantity: number, difference: number) => ({
      invoice: {
        items: [
          {
            category: 'devices',
            item: 'sip_device',
            quantity,
            changes: { difference: { quantity: difference } },
          },
          { category: 'users', item: 'admin', quantity: 1 },
        ],
      },
    })
    ofEntries.add(entry({ ...changed(5, 3) }))
    ofEntries.add(entry({ ...changed(4, -1), pvt_created: made + 60 }))
    expect(ofEntries.drafts(accountId)).toEqual(days.slice(0, 1))
  })
})
