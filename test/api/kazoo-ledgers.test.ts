// The money of the months of Kazoo, as the ledger shows it after the import.
import fc from 'fast-check'
import { expect, it } from 'vitest'
import {
  closeBook,
  convertMoney,
  emptyBook,
  type MonthOfAccount,
} from '../../import-kazoo/conversions/ledgers.rules.ts'
import type { Draft, KazooDocument } from '../../import-kazoo/documents/document.ts'
import { checkLedgers } from '../../src/commands/verification/ledgers.sql.ts'
import type { Fault } from '../../src/lib/check.ts'
import type { Json } from '../../src/lib/json.ts'
import { dollarsOfUnits } from '../../src/lib/money.ts'
import { createAdopter } from '../support/kazoo/adopter.ts'
import { documentOf } from '../support/kazoo/kazoo-texts.ts'
import { countOf } from '../support/run/run-length.ts'
import { describeEngines, type TestAccount, useWorld } from '../support/world/world.ts'

const gregorianOffset = 62_167_219_200
const at = (text: string) => Date.parse(text) / 1000 + gregorianOffset

describeEngines('the ledger that came from Kazoo', (engine) => {
  const adopter = createAdopter()
  const world = useWorld(engine, undefined, undefined, { more: [adopter.area] })
  const store = () => world.server.store

  const customer = () => world.account(world.reseller)
  const database = ({ id }: TestAccount, month: number) =>
    `account/${id.slice(0, 2)}/${id.slice(2, 4)}/${id.slice(4)}-${month}`

  const ledger = (account: TestAccount, id: string, amount: number, fields: Json = {}) =>
    documentOf(database(account, Number(id.slice(0, 6))), {
      _id: id,
      pvt_type: 'ledger',
      pvt_ledger_type: amount < 0 ? 'debit' : 'credit',
      amount: Math.abs(amount),
      source: { service: 'per-minute-voip', id: `call of ${id}` },
      usage: { type: 'voice', quantity: 60, unit: 'sec' },
      account: { id: account.id, name: account.name },
      pvt_created: at(`${id.slice(0, 4)}-${id.slice(4, 6)}-10T12:00:00Z`),
      ...fields,
    })

  const rollover = (account: TestAccount, month: number, amount: number) =>
    ledger(account, `${month}-ledgers_monthly_rollover`, amount, {
      source: { service: 'rollovers', id: String(month) },
      usage: { type: 'month', quantity: 1, unit: 'month' },
      pvt_created: at(`${String(month).slice(0, 4)}-${String(month).slice(4)}-01T00:00:09Z`),
    })

  const monthOf = (account: TestAccount, month: number, more: Partial<MonthOfAccount> = {}) => ({
    ...{ accountId: account.id, accountName: account.name, month },
    ...{ hasRollover: false, before: undefined, carriesOver: true },
    ...more,
  })

  /** The months of an account, as an import reads them one after the other. */
  const draftsOf = (
    account: TestAccount,
    months: readonly (readonly [number, readonly KazooDocument[]])[],
  ) => {
    const drafts: Draft[] = []
    let before: number | undefined
    for (const [month, documents] of months) {
      const hasRollover = documents.some(({ id }) => id === `${month}-ledgers_monthly_rollover`)
      const of = monthOf(account, month, { before, hasRollover })
      let book = emptyBook
      for (const document of documents) {
        const converted = convertMoney(document, of, book)
        book = converted.book
        drafts.push(...converted.drafts)
      }
      const closed = closeBook(book, database(account, month), of)
      drafts.push(...closed.drafts)
      before = closed.units
    }
    return { drafts, units: before ?? 0 }
  }

  const read = async ({ path }: TestAccount, place: string, query: Record<string, string | number> = {}) =>
    (await world.ross.get(`${path}/${place}`, { query })).data

  const faults = async () => {
    const found: Fault[] = []
    await checkLedgers(store()).run((fault) => void found.push(fault))
    return found
  }

  it('is read with its ids, times, months and signs', async () => {
    const account = await customer()
    const { drafts, units } = draftsOf(account, [
      [202511, [ledger(account, '202511-aa', 100_000, { source: { service: 'payments', id: 'p' } })]],
      [
        202512,
        [
          ledger(account, '202512-bb', -1200, { description: 'a call', audit: { agent: { type: 'user' } } }),
          ledger(account, '202512-ab', -800, { pvt_created: at('2025-12-11T12:00:00Z') }),
          rollover(account, 202512, 100_000),
        ],
      ],
      [202601, [ledger(account, '202601-cc', -3000), rollover(account, 202601, 98_000)]],
    ])
    expect(units).toBe(95_000)
    expect(await adopter.adopt(store(), drafts)).toBe(6)
    expect(await adopter.adopt(store(), drafts)).toBe(0)
    expect(await faults()).toEqual([])
    expect(await read(account, 'ledgers/total')).toEqual({ amount: 9.5 })
    expect(await read(account, 'ledgers/per-minute-voip/202512-bb')).toEqual({
      id: '202512-bb',
      source: { service: 'per-minute-voip', id: 'call of 202512-bb' },
      usage: { type: 'voice', quantity: 60, unit: 'sec' },
      amount: -0.12,
      description: 'a call',
      account: { id: account.id, name: account.name },
      audit: { agent: { type: 'user' }, available_units: 100_000 },
      created: at('2025-12-10T12:00:00Z'),
      created_ms: at('2025-12-10T12:00:00Z') * 1000,
    })
    const december = { created_from: at('2025-12-01T00:00:00Z'), created_to: at('2026-01-01T00:00:00Z') - 1 }
    const rows = await read(account, 'ledgers/per-minute-voip', december)
    expect(rows.map(({ id, audit }: Json) => [id, audit])).toEqual([
      ['202512-ab', { available_units: 98_800 }],
      ['202512-bb', { agent: { type: 'user' }, available_units: 100_000 }],
    ])
    expect(await read(account, 'ledgers', december)).toEqual({
      'per-minute-voip': { amount: -0.2, usage: { type: 'voice', quantity: 120, unit: 'sec' } },
      rollovers: { amount: 10, usage: { type: 'month', quantity: 1, unit: 'month' } },
    })
    expect(await read(account, 'ledgers/summary/202601')).toEqual({
      summary: {
        'per-minute-voip': { amount: -0.3, usage: { type: 'voice', quantity: 60, unit: 'sec' } },
        rollovers: { amount: 9.8, usage: { type: 'month', quantity: 1, unit: 'month' } },
      },
      breakdown: [
        {
          account: { id: account.id, name: account.name },
          ledgers: {
            'per-minute-voip': { amount: -0.3, usage: { type: 'voice', quantity: 60, unit: 'sec' } },
            rollovers: { amount: 9.8, usage: { type: 'month', quantity: 1, unit: 'month' } },
          },
          total: 9.5,
        },
      ],
    })
  })

  it('keeps a rollover that differs from the end of the month before, and books the difference at that end', async () => {
    const account = await customer()
    const { drafts } = draftsOf(account, [
      [202512, [ledger(account, '202512-bb', -1200)]],
      [202601, [rollover(account, 202601, 50_000)]],
    ])
    await adopter.adopt(store(), drafts)
    expect(await faults()).toEqual([])
    expect(await read(account, 'ledgers/total')).toEqual({ amount: 5 })
    expect(await read(account, 'ledgers/summary/202512')).toMatchObject({
      summary: { month_corrections: { amount: 5.12 }, 'per-minute-voip': { amount: -0.12 } },
    })
    expect(await read(account, 'ledgers/summary/202601')).toMatchObject({
      summary: { rollovers: { amount: 5 } },
    })
    // Something more of the old month arrives: the balance stays what the new one began with.
    const late = draftsOf(account, [[202512, [ledger(account, '202512-bc', -300)]]])
    await adopter.adopt(store(), late.drafts)
    expect(await faults()).toEqual([])
    expect(await read(account, 'ledgers/total')).toEqual({ amount: 5 })
    expect(await read(account, 'ledgers/summary/202512')).toMatchObject({
      summary: { month_corrections: { amount: 5.15 } },
    })
  })

  it('is carried over here under the same id, and only once', async () => {
    const account = await customer()
    const { drafts } = draftsOf(account, [
      [202512, [ledger(account, '202512-bb', 70_000)]],
      [202601, [ledger(account, '202601-cc', -3000)]],
    ])
    await adopter.adopt(store(), drafts)
    const carried = '202601-ledgers_monthly_rollover'
    expect(await read(account, `ledgers/rollovers/${carried}`)).toMatchObject({ amount: 7 })
    // Kazoo makes it a moment later.
    const kazoos = draftsOf(account, [[202601, [rollover(account, 202601, 70_000)]]])
    await adopter.adopt(store(), kazoos.drafts)
    expect(await faults()).toEqual([])
    await world.server.scheduler.runNow('ledger_months')
    const rows = await read(account, 'ledgers/rollovers')
    expect(rows.map(({ id, amount }: Json) => [id, amount])).toEqual([[carried, 7]])
    expect(await read(account, 'ledgers/total')).toEqual({ amount: 6.7 })
  })

  it('changes with its documents, and goes with them', async () => {
    const account = await customer()
    const first = draftsOf(account, [[202601, [ledger(account, '202601-cc', -3000)]]]).drafts
    await adopter.adopt(store(), first)
    const [other] = draftsOf(account, [
      [202601, [ledger(account, '202601-cc', 4000, { source: { service: 'payments', id: 'p' } })]],
    ]).drafts
    expect(await adopter.adopt(store(), other ? [other] : [])).toBe(1)
    expect(await read(account, 'ledgers/total')).toEqual({ amount: 0.4 })
    expect(await faults()).toEqual([])
    const place = { as: 'ledger', accountId: account.id, id: '202601-cc' }
    expect(await adopter.remove(store(), place)).toBe(true)
    expect(await adopter.remove(store(), place)).toBe(false)
    expect(await read(account, 'ledgers/total')).toEqual({ amount: 0 })
    expect(await faults()).toEqual([])
  })

  it('of a transaction keeps the row until it is removed; one that was pending has failed and is asked for nowhere', async () => {
    const account = await customer()
    const transaction = (id: string, status: string) =>
      documentOf(database(account, 202601), {
        _id: id,
        pvt_type: 'transaction',
        pvt_transaction_type: 'sale',
        amount: 250_000,
        status,
        description: 'Automatic top-up',
        executor: { trigger: 'automatic', module: 'kz_topup' },
        bookkeeper: { id: 'b', type: 'braintree', vendor_id: world.reseller.id },
        pvt_created: at('2026-01-01T10:00:00Z'),
      })
    const { drafts } = draftsOf(account, [
      [202601, [transaction('202601-a1', 'completed'), transaction('202601-a2', 'pending')]],
    ])
    expect(await adopter.adopt(store(), drafts)).toBe(2)
    expect(await adopter.adopt(store(), drafts)).toBe(0)
    await world.server.scheduler.runNow('transactions')
    const row = {
      currency: 'USD',
      executor: { trigger: 'automatic', module: 'kz_topup' },
      description: 'Automatic top-up',
      amount: 25,
      created: at('2026-01-01T10:00:00Z'),
      created_ms: at('2026-01-01T10:00:00Z') * 1000,
    }
    expect(await read(account, 'transactions', { created_from: at('2026-01-01T00:00:00Z') })).toEqual([
      {
        ...row,
        id: '202601-a2',
        status: 'failed',
        bookkeeper: {
          type: 'braintree',
          status: 'declined',
          reason: 'unknown_at_import',
          message: 'its result was unknown when it was imported',
        },
      },
      {
        ...row,
        id: '202601-a1',
        status: 'completed',
        bookkeeper: { type: 'braintree', status: 'succeeded' },
      },
    ])
    expect(await read(account, 'transactions/202601-a1')).toMatchObject({
      id: '202601-a1',
      type: 'sale',
      amount: 25,
    })
    expect(await read(account, 'ledgers/total')).toEqual({ amount: 0 })

    const place = { as: 'transaction', accountId: account.id, id: '202601-a2' }
    expect(await adopter.remove(store(), place)).toBe(true)
    expect(await adopter.remove(store(), place)).toBe(false)
    const left = await read(account, 'transactions', { created_from: at('2026-01-01T00:00:00Z') })
    expect(left.map(({ id }: Json) => id)).toEqual(['202601-a1'])
  })

  it('has the balance of any months, to the unit, and is sound', async () => {
    const amount = fc.integer({ min: -2_000_000, max: 2_000_000 })
    const anyMonth = fc.record({
      rollover: fc.option(amount, { nil: undefined }),
      older: fc.array(amount, { maxLength: 2 }),
      ledgers: fc.array(amount, { maxLength: 4 }),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(anyMonth, { minLength: 1, maxLength: 6 }), fc.nat(), async (months, some) => {
        const account = await customer()
        let expected = 0
        const documents = months.map(({ rollover: begin, older, ledgers }, index) => {
          const month = 202508 + index <= 202512 ? 202508 + index : 202601
          const start = begin ?? (older.length > 0 ? older.reduce((a, b) => a + b, 0) : expected)
          expected = start + ledgers.reduce((a, b) => a + b, 0)
          return [
            month,
            [
              ...older.map((one, place) =>
                documentOf(database(account, month), {
                  _id: `0${place}`,
                  pvt_type: one < 0 ? 'debit' : 'credit',
                  pvt_amount: Math.abs(one),
                  pvt_created: at('2025-08-01T00:00:00Z'),
                }),
              ),
              ...ledgers.map((one, place) => ledger(account, `${month}-${place}`, one)),
              ...(begin === undefined ? [] : [rollover(account, month, begin)]),
            ],
          ] as const
        })
        const { drafts, units } = draftsOf(account, documents)
        expect(units).toBe(expected)
        // Some entries from the middle are imported first: balances are recalculated from the first missing entry.
        const start = some % (drafts.length + 1)
        await adopter.adopt(store(), drafts.slice(start))
        await adopter.adopt(store(), drafts)
        expect(await adopter.adopt(store(), drafts)).toBe(0)
        expect(await read(account, 'ledgers/total')).toEqual({ amount: dollarsOfUnits(expected) })
        expect(await faults()).toEqual([])
        const orders = await store().all<{ ordinal: number; had: number }>(
          `SELECT ordinal, available_before - COALESCE((SELECT sum(amount) FROM ledger_entries o
              WHERE o.account_id = e.account_id AND o.ordinal < e.ordinal AND o.source_service <> 'rollovers'), 0) AS had
            FROM ledger_entries e WHERE account_id = $1 ORDER BY ordinal`,
          [account.id],
        )
        expect(orders.map(({ ordinal }) => ordinal)).toEqual(orders.map((_, index) => index + 1))
        expect(orders.every(({ had }) => Number(had) === 0)).toBe(true)
      }),
      { numRuns: countOf(10, 25) },
    )
  })
})
