// Plans and services of Kazoo, of both generations.
import { describe, expect, it } from 'vitest'
import { convertPlan } from '../../import-kazoo/conversions/pricing.rules.ts'
import { convertServices } from '../../import-kazoo/conversions/services.rules.ts'
import type { Json } from '../../src/lib/json.ts'
import { documentOf } from '../support/kazoo/kazoo-texts.ts'

const reseller = 'aabb00000000000000000000000000d1'
const customer = 'aabb00000000000000000000000000c1'
const planId = '77aa0000000000000000000000000001'
const made = 63_800_000_000
const database = `account/aa/bb/${reseller.slice(4)}`

const plan = (fields: Json) =>
  documentOf(database, { _id: planId, pvt_type: 'service_plan', pvt_created: made, ...fields })

const converted = (fields: Json) => {
  const { drafts, findings } = convertPlan(plan(fields), reseller)
  return { doc: drafts[0]?.doc, findings: findings.map(({ database: _, id: __, ...said }) => said) }
}

describe('a plan of Kazoo', () => {
  it('is a plan of the account that sells by it', () => {
    const document = plan({
      name: 'Phones',
      category: 'Base',
      merge: { strategy: 'recursive', priority: 10 },
      plan: { devices: { sip_device: { rate: 4.25, cascade: true, as: 'phone' } } },
      ratedeck: { id: 'gold', name: 'Gold' },
      bookkeeper: { id: 'mine', type: 'default', vendor_id: reseller },
      colour: 'blue',
    })
    expect(convertPlan(document, reseller)).toEqual({
      document,
      outcome: 'imported',
      findings: [],
      drafts: [
        {
          as: 'service_plan',
          accountId: reseller,
          id: planId,
          created: made,
          modified: made,
          doc: {
            name: 'Phones',
            category: 'Base',
            merge: { strategy: 'recursive', priority: 10 },
            plan: { devices: { sip_device: { rate: 4.25, cascade: true, as: 'phone' } } },
            ratedeck: { id: 'gold', name: 'Gold' },
            bookkeeper: { id: 'mine', type: 'default' },
            colour: 'blue',
          },
          facts: {},
          files: [],
        },
      ],
    })
  })

  it('has prices of four decimals in every place', () => {
    const items = {
      sip_device: {
        rate: 0.00005,
        rates: { 5: 1.23456, 10: 2 },
        activation_charge: 1.00005,
        discounts: { cumulative: { rate: 0.33333, rates: { 4: 0.12345 }, maximum: 3 } },
        minimum: 2,
      },
    }
    const { doc, findings } = converted({ name: 'P', plan: { devices: items } })
    expect(doc?.plan).toEqual({
      devices: {
        sip_device: {
          rate: 0.0001,
          rates: { 5: 1.2346, 10: 2 },
          activation_charge: 1.0001,
          discounts: { cumulative: { rate: 0.3333, rates: { 4: 0.1235 }, maximum: 3 } },
          minimum: 2,
        },
      },
    })
    const rounded = { severity: 'repaired', code: 'price_rounded' }
    const at = 'plan.devices.sip_device'
    expect(findings).toEqual([
      { ...rounded, field: `${at}.rate`, old: '0.00005', new: '0.0001' },
      { ...rounded, field: `${at}.rates.5`, old: '1.23456', new: '1.2346' },
      { ...rounded, field: `${at}.activation_charge`, old: '1.00005', new: '1.0001' },
      { ...rounded, field: `${at}.discounts.cumulative.rate`, old: '0.33333', new: '0.3333' },
      { ...rounded, field: `${at}.discounts.cumulative.rates.4`, old: '0.12345', new: '0.1235' },
    ])
  })

  it('of the older form has its applications and its deck where they are now', () => {
    const { doc, findings } = converted({
      name: 'Old',
      plan: {
        users: { _all: { rate: 1 } },
        ui_apps: { _all: { enabled: true }, app1: { account_id: reseller, name: 'voip', enabled: false } },
        ratedeck: { gold: {} },
        ratedeck_name: { Gold: {} },
      },
      bookkeepers: { braintree: { users: { user: { plan: 'a', addon: 'b' } } } },
      manual_recurring: [{ name: 'rent', quantity: 1, rates: 5 }],
    })
    expect(doc).toEqual({
      name: 'Old',
      plan: { users: { _all: { rate: 1 } } },
      applications: { app1: { name: 'voip', vendor_id: reseller, enabled: false } },
      ratedeck: { id: 'gold', name: 'Gold' },
      manual_recurring: [{ name: 'rent', quantity: 1, rates: 5 }],
    })
    expect(findings).toEqual([
      { severity: 'needs_hand', code: 'manual_recurring_not_billed', field: 'manual_recurring' },
      { severity: 'needs_hand', code: 'bookkeepers_left_out', field: 'bookkeepers' },
      ...['plan.ui_apps', 'plan.ratedeck', 'plan.ratedeck_name'].map((field) => ({
        severity: 'repaired',
        code: 'plan_item_moved',
        field,
      })),
    ])
  })

  it('loses a bookkeeper that is not here, and markups, and has a name', () => {
    const { doc, findings } = converted({
      plan: { ledgers: { 'per-minute-voip': { rate: 5, markup_type: 'percentage' } } },
      bookkeeper: { id: 'x', type: 'braintree', vendor_id: reseller },
    })
    expect(doc).toEqual({ name: planId, plan: { ledgers: { 'per-minute-voip': { rate: 5 } } } })
    expect(findings).toEqual([
      {
        severity: 'left_out',
        code: 'markup_left_out',
        field: 'plan.ledgers.per-minute-voip.markup_type',
        old: 'percentage',
      },
      {
        severity: 'needs_hand',
        code: 'bookkeeper_unknown',
        field: 'bookkeeper',
        old: 'braintree',
        new: 'default',
      },
      { severity: 'repaired', code: 'name_missing', field: 'name', new: planId },
    ])
    expect(converted({ name: 'x'.repeat(130) }).doc?.name).toBe('x'.repeat(128))
  })

  it('that was deleted is none', () => {
    expect(convertPlan(plan({ name: 'P', pvt_deleted: true }), reseller)).toMatchObject({
      outcome: 'skipped',
      drafts: [],
    })
  })
})

describe('the services of an account in Kazoo', () => {
  const context = {
    accounts: new Map([
      [reseller, { parent: 'aabb00000000000000000000000000e1' }],
      [customer, { parent: reseller }],
    ]),
    plans: new Map([[reseller, new Set([planId])]]),
  }

  const services = (fields: Json, id = customer) =>
    documentOf('services', { _id: id, pvt_type: 'service', pvt_created: made, ...fields })

  const of = (fields: Json) => {
    const { drafts, findings } = convertServices(services(fields), context)
    return { doc: drafts[0]?.doc, findings: findings.map(({ database: _, id: __, ...said }) => said) }
  }

  it('of the newer form are plans, overrides and counts set by hand (52)', () => {
    const document = services({
      pvt_vsn: '2',
      plans: {
        [planId]: { vendor_id: reseller, overrides: { plan: { devices: { sip_device: { rate: 3 } } } } },
      },
      overrides: { plan: { users: { admin: { rate: 0.123456 } } } },
      quantities: {
        account: { users: { admin: 1 } },
        cascade: { devices: { sip_device: 5 } },
        manual: { support: { hours: 2 } },
      },
      ratedeck: { id: 'ratedeck/gold' },
      pvt_status: 'good_standing',
    })
    const converted = convertServices(document, context)
    expect(converted.drafts).toEqual([
      {
        as: 'services',
        accountId: customer,
        id: customer,
        created: made,
        modified: made,
        doc: {
          plans: {
            [planId]: { vendor_id: reseller, overrides: { plan: { devices: { sip_device: { rate: 3 } } } } },
          },
          overrides: { plan: { users: { admin: { rate: 0.1235 } } } },
          manual: { support: { hours: 2 } },
          ratedeck: { id: 'gold' },
        },
        facts: {},
        files: [],
      },
    ])
    expect(converted.findings.map(({ code }) => code)).toEqual(['price_rounded', 'ratedeck_renamed'])
  })

  it('of the older form have their vendor elsewhere, and counts of either kind in one place (53)', () => {
    const old = {
      plans: {
        [planId]: { account_id: reseller },
        gone: { account_db: `account%2Faa%2Fbb%2F${reseller.slice(4)}` },
      },
      quantities: {
        users: { admin: 1 },
        support: { hours: 2 },
        ratedeck: { gold: 1 },
        ratedeck_name: { Gold: 1 },
        ui_apps: { app1: 1 },
      },
      billing_id: reseller,
      pvt_dirty: false,
    }
    expect(of(old)).toEqual({
      doc: {
        plans: { [planId]: { vendor_id: reseller, overrides: {} } },
        manual: { support: { hours: 2 } },
        ratedeck: { id: 'gold', name: 'Gold' },
        billing_id: reseller,
      },
      findings: [{ severity: 'repaired', code: 'plan_gone', field: 'plans.gone', old: 'gone' }],
    })
    const encoded = { [planId]: { account_db: `account%2Faa%2Fbb%2F${reseller.slice(4)}` } }
    expect(of({ plans: encoded }).doc?.plans).toEqual({ [planId]: { vendor_id: reseller, overrides: {} } })
  })

  it('of an account that does not exist are skipped (54)', () => {
    expect(convertServices(services({ plans: {} }, 'f'.repeat(32)), context)).toMatchObject({
      outcome: 'skipped',
      drafts: [],
      findings: [],
    })
  })

  it('leave out a plan that is gone (55), and keep a bad name', () => {
    expect(
      of({
        pvt_vsn: 2,
        plans: { other: { vendor_id: reseller }, [planId]: { vendor_id: customer } },
        quantities: { manual: { support: { hours: -1, days: 'x', weeks: '3' } } },
        bookkeeper: { id: 'x', type: 'iou' },
        payment_tokens: { t1: { id: 'secret-token' } },
        pvt_status: 'delinquent',
        pvt_status_reason: 'card',
        pvt_status_code: 7,
        billing_id: 'aabb00000000000000000000000000e1',
      }),
    ).toEqual({
      doc: {
        manual: { support: { weeks: 3 } },
        status: 'delinquent',
        reason: 'card',
        reason_code: 7,
      },
      findings: [
        { severity: 'repaired', code: 'plan_gone', field: 'plans.other', old: 'other' },
        { severity: 'repaired', code: 'plan_gone', field: `plans.${planId}`, old: planId },
        { severity: 'repaired', code: 'count_unreadable', field: 'manual.support.hours', old: '-1' },
        { severity: 'repaired', code: 'count_unreadable', field: 'manual.support.days', old: '"x"' },
        { severity: 'needs_hand', code: 'card_needed', field: 'payment_tokens' },
        {
          severity: 'needs_hand',
          code: 'bookkeeper_unknown',
          field: 'bookkeeper',
          old: 'iou',
          new: 'default',
        },
        {
          severity: 'repaired',
          code: 'billing_id_not_parent',
          field: 'billing_id',
          old: 'aabb00000000000000000000000000e1',
          new: customer,
        },
      ],
    })
  })
})
