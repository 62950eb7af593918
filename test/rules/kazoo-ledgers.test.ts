// A month of an account in Kazoo, with its money as Crosspoint stores it.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  type BookSoFar,
  closeBook,
  convertMoney,
  emptyBook,
  type MonthOfAccount,
} from '../../import-kazoo/conversions/ledgers.rules.ts'
import type { KazooDocument } from '../../import-kazoo/documents/document.ts'
import { monthsTogether, reckoned } from '../../src/areas/billing/ledgers/rules.ts'
import { monthBefore } from '../../src/lib/gregorian.ts'
import type { Json } from '../../src/lib/json.ts'
import { documentOf } from '../support/kazoo/kazoo-texts.ts'

const accountId = 'aabb00000000000000000000000000c1'
const resellerId = 'aabb00000000000000000000000000d1'
const database = (month = 202502) => `account/aa/bb/${accountId.slice(4)}-${month}`
const made = 63_907_700_101

const month: MonthOfAccount = {
  accountId,
  accountName: 'Acme',
  month: 202502,
  hasRollover: true,
  before: 125_000,
  carriesOver: true,
}

const ledger = (id: string, type: string, amount: unknown, fields: Json = {}) =>
  documentOf(database(), {
    _id: id,
    pvt_type: 'ledger',
    pvt_ledger_type: type,
    amount,
    source: { service: 'per-minute-voip', id: '6f0c@10.1.2.3' },
    usage: { type: 'voice', quantity: 60, unit: 'sec' },
    period: { start: made },
    account: { id: accountId, name: 'Acme' },
    pvt_created: made,
    ...fields,
  })

const rollover = (amount: number, type = 'credit') =>
  ledger('202502-ledgers_monthly_rollover', type, amount, {
    source: { service: 'rollovers', id: '202502' },
    usage: { type: 'month', quantity: 1, unit: 'month' },
  })

const older = (id: string, type: 'credit' | 'debit', amount: unknown, fields: Json = {}) =>
  documentOf(database(), { _id: id, pvt_type: type, pvt_amount: amount, pvt_created: made, ...fields })

const one = (document: KazooDocument, of = month, book: BookSoFar = emptyBook) =>
  convertMoney(document, of, book)

/** All documents of a month, in their order. */
const read = (documents: readonly KazooDocument[], of: MonthOfAccount) => {
  let book = emptyBook
  const drafts = []
  const findings = []
  for (const document of documents) {
    const converted = convertMoney(document, of, book)
    book = converted.book
    drafts.push(...converted.drafts)
    findings.push(...converted.findings)
  }
  const closed = closeBook(book, database(of.month), of)
  return {
    drafts: [...drafts, ...closed.drafts],
    findings: [...findings, ...closed.findings],
    units: closed.units,
  }
}

describe('a ledger of Kazoo', () => {
  it('is an entry with its id, its time, its month and its sign', () => {
    const document = ledger('202502-9e1c00', 'debit', 1200, {
      description: 'a call',
      metadata: { call: { direction: 'outbound' } },
      executor: { trigger: 'automatic', module: 'jonny5' },
      audit: { available_units: 5 },
    })
    expect(one(document)).toEqual({
      document,
      outcome: 'imported',
      findings: [],
      book: { carried: undefined, moved: -1200, entries: 1, older: 0 },
      drafts: [
        {
          as: 'ledger',
          accountId,
          id: '202502-9e1c00',
          created: made,
          modified: made,
          doc: {
            source: { service: 'per-minute-voip', id: '6f0c@10.1.2.3' },
            usage: { type: 'voice', quantity: 60, unit: 'sec' },
            description: 'a call',
            period: { start: made },
            metadata: { call: { direction: 'outbound' } },
            executor: { trigger: 'automatic', module: 'jonny5' },
            account: { id: accountId, name: 'Acme' },
            audit: { available_units: 5 },
          },
          facts: { month: 202502, amount: -1200 },
          files: [],
        },
      ],
    })
  })

  it('may be about another account: the leg of a reseller', () => {
    const leg = ledger('202502-1', 'credit', 30, { account: { id: resellerId, name: 'R' } })
    expect(one(leg).drafts[0]?.doc.account).toEqual({ id: resellerId, name: 'R' })
    const nobody = ledger('202502-1', 'credit', 30, { account: 'R' })
    expect(one(nobody).drafts[0]?.doc.account).toEqual({ id: accountId, name: 'Acme' })
  })

  it.each([
    ['text', '1200', -1200],
    ['nothing', 0, 0],
    ['less than nothing', -7, 7],
  ])('has an amount that is %s', (_, amount, units) => {
    expect(one(ledger('202502-1', 'debit', amount)).drafts[0]?.facts).toEqual({
      month: 202502,
      amount: units,
    })
  })

  it.each([
    ['amount', ledger('202502-1', 'debit', 1.5)],
    ['amount', ledger('202502-1', 'debit', undefined)],
    ['pvt_ledger_type', ledger('202502-1', 'both', 1)],
  ])('is left out, and reported, when its %s cannot be read', (field, document) => {
    expect(one(document)).toMatchObject({
      outcome: 'rejected',
      drafts: [],
      findings: [{ severity: 'needs_hand', code: 'money_unreadable', field, id: '202502-1' }],
      book: emptyBook,
    })
  })

  it('that was deleted is none', () => {
    expect(one(ledger('202502-1', 'debit', 5, { pvt_deleted: true }))).toMatchObject({
      outcome: 'skipped',
      drafts: [],
      book: emptyBook,
    })
  })

  it('moves the balance although it is booked under the name of what is carried over', () => {
    const { drafts, findings, book } = one(
      ledger('202502-1', 'credit', 5, { source: { service: 'rollovers', id: 'x' } }),
    )
    expect(drafts[0]?.doc.source).toEqual({ service: 'legacy', id: 'x' })
    expect(findings).toMatchObject([{ code: 'rollover_renamed', severity: 'repaired' }])
    expect(book.moved).toBe(5)
  })
})

describe('the beginning of a month', () => {
  it('is its rollover; older documents next to it are rows of the older transactions (44 to 47)', () => {
    const documents = [
      older('0c', 'credit', 40_000, { pvt_reason: 'admin_discretion', pvt_code: 3005 }),
      ledger('202502-9e1c', 'debit', 1200),
      ledger('202502-9e1d', 'debit', 800),
      rollover(125_000),
    ]
    const { drafts, findings, units } = read(documents, month)
    expect(units).toBe(123_000)
    expect(findings).toEqual([])
    expect(drafts.map(({ as, id, facts }) => [as, id, facts.amount])).toEqual([
      ['transaction', '202502-0c', 40_000],
      ['ledger', '202502-9e1c', -1200],
      ['ledger', '202502-9e1d', -800],
      ['ledger', '202502-ledgers_monthly_rollover', 125_000],
    ])
    expect(drafts[0]).toEqual({
      as: 'transaction',
      accountId,
      id: '202502-0c',
      created: made,
      modified: made,
      doc: {
        account: { id: accountId, name: 'Acme' },
        description: 'admin_discretion',
        executor: { trigger: 'legacy', module: 'admin_discretion' },
        bookkeeper: { id: 'legacy', type: 'legacy', vendor_id: accountId },
        metadata: { reason: 'admin_discretion', code: 3005 },
      },
      facts: { type: 'sale', status: 'completed', amount: 40_000, result: { status: 'succeeded' } },
      files: [],
    })
  })

  it('is what older documents come to where there is no rollover, their own one first (48)', () => {
    const of = { ...month, hasRollover: false }
    const documents = [
      older('0a', 'debit', 300, {
        call_id: 'a@b',
        sub_account_id: resellerId,
        pvt_reason: 'per_minute_call',
      }),
      older('monthly_rollup', 'credit', 125_000, { pvt_reason: 'database_rollup', pvt_code: 4000 }),
      ledger('202502-1', 'credit', 50),
    ]
    const { drafts, findings, units } = read(documents, of)
    expect(units).toBe(124_750)
    expect(findings).toEqual([])
    expect(drafts.map(({ id, doc, facts }) => [id, doc.source, doc.account, facts.amount])).toEqual([
      ['202502-0a', { service: 'legacy', id: 'a@b' }, { id: resellerId, name: resellerId }, -300],
      [
        '202502-ledgers_monthly_rollover',
        { service: 'rollovers', id: '202502' },
        { id: accountId, name: 'Acme' },
        125_000,
      ],
      ['202502-1', { service: 'per-minute-voip', id: '6f0c@10.1.2.3' }, { id: accountId, name: 'Acme' }, 50],
    ])
  })

  it('is nothing where older documents say nothing of the month before', () => {
    const of = { ...month, hasRollover: false }
    const { drafts, findings, units } = read([older('0a', 'credit', 300)], of)
    expect(units).toBe(300)
    expect(drafts.map(({ id, facts }) => [id, facts.amount])).toEqual([
      ['202502-0a', 300],
      ['202502-ledgers_monthly_rollover', 0],
    ])
    expect(findings).toEqual([
      {
        severity: 'repaired',
        code: 'rollover_differs',
        database: database(),
        id: '202502-ledgers_monthly_rollover',
        field: 'amount',
        old: '12.5',
        new: '0',
      },
    ])
  })

  it('is the rollover although the month before ended otherwise (49)', () => {
    const { findings, units } = read([rollover(100_000, 'debit')], month)
    expect(units).toBe(-100_000)
    expect(findings).toEqual([
      {
        severity: 'repaired',
        code: 'rollover_differs',
        database: database(),
        id: '202502-ledgers_monthly_rollover',
        field: 'amount',
        old: '12.5',
        new: '-10',
      },
    ])
  })

  it('is the end of the month before where no document sets it, except for ledgers that start at zero each month', () => {
    const quiet = { ...month, hasRollover: false }
    expect(read([ledger('202502-1', 'debit', 5)], quiet)).toMatchObject({ units: 124_995, findings: [] })
    const anew = read([ledger('202502-1', 'debit', 5)], { ...quiet, carriesOver: false })
    expect(anew.units).toBe(-5)
    expect(anew.drafts.map(({ id, facts }) => [id, facts.amount])).toEqual([
      ['202502-1', -5],
      ['202502-ledgers_monthly_rollover', 0],
    ])
  })

  it('opens the books where no month before is known', () => {
    const first = { ...month, before: undefined }
    expect(read([rollover(125_000)], first)).toMatchObject({
      units: 125_000,
      findings: [{ code: 'opening_balance', new: '12.5' }],
    })
    expect(read([], { ...first, hasRollover: false })).toEqual({ drafts: [], findings: [], units: 0 })
  })
})

describe('a transaction of Kazoo', () => {
  const transaction = (fields: Json) =>
    documentOf(database(), {
      _id: '202502-ab12',
      pvt_type: 'transaction',
      pvt_transaction_type: 'sale',
      amount: 250_000,
      status: 'completed',
      description: 'Automatic top-up',
      executor: { trigger: 'automatic', module: 'kz_topup' },
      bookkeeper: {
        id: 'b',
        type: 'braintree',
        vendor_id: resellerId,
        results: { status: 'success', reason: 'ok', card: { last_four: '4242' } },
      },
      order_id: 'o1',
      pvt_created: made,
      ...fields,
    })

  it('is kept with how it ended, and without what was paid with', () => {
    const { drafts, findings } = one(transaction({}))
    expect(findings).toEqual([])
    expect(drafts).toEqual([
      {
        as: 'transaction',
        accountId,
        id: '202502-ab12',
        created: made,
        modified: made,
        doc: {
          account: { id: accountId, name: 'Acme' },
          description: 'Automatic top-up',
          executor: { trigger: 'automatic', module: 'kz_topup' },
          bookkeeper: { id: 'b', type: 'braintree', vendor_id: resellerId },
          order_id: 'o1',
        },
        facts: {
          type: 'sale',
          status: 'completed',
          amount: 250_000,
          result: { status: 'succeeded', reason: 'ok' },
        },
        files: [],
      },
    ])
  })

  it('that was still pending has failed, and is not charged again (51)', () => {
    const { drafts, findings } = one(transaction({ status: 'pending' }))
    expect(drafts[0]?.facts).toMatchObject({
      status: 'failed',
      result: { status: 'declined', reason: 'unknown_at_import' },
    })
    expect(findings).toMatchObject([
      { severity: 'needs_hand', code: 'payment_pending', old: 'pending', new: 'failed: unknown_at_import' },
    ])
  })

  it('without a direction is reported', () => {
    expect(one(transaction({ pvt_transaction_type: 'gift' }))).toMatchObject({
      outcome: 'rejected',
      findings: [{ code: 'money_unreadable', field: 'pvt_transaction_type' }],
    })
  })
})

describe('the balance of any months', () => {
  const units = fc.integer({ min: 0, max: 2_000_000 })
  const type = fc.constantFrom('credit' as const, 'debit' as const)
  const movement = fc.record({ type, units })
  const anyMonth = fc.record({
    rollover: fc.option(movement, { nil: undefined }),
    rollUp: fc.option(movement, { nil: undefined }),
    older: fc.array(movement, { maxLength: 3 }),
    ledgers: fc.array(movement, { maxLength: 4 }),
  })
  const signed = ({ type: way, units: amount }: { type: 'credit' | 'debit'; units: number }) =>
    way === 'credit' ? amount : -amount
  const sum = (movements: Parameters<typeof signed>[0][]) =>
    movements.reduce((all, one) => all + signed(one), 0)

  it('is what Kazoo says, both while it is read and as it is reckoned from what arrived', () => {
    fc.assert(
      fc.property(fc.array(anyMonth, { minLength: 1, maxLength: 8 }), fc.boolean(), (months, carriesOver) => {
        let expected = 0
        let before: number | undefined
        const arrived = months.map(({ rollover: begin, rollUp, older: olders, ledgers }, index) => {
          const number = 202401 + index
          const isOlder = rollUp !== undefined || olders.length > 0
          const start = begin
            ? signed(begin)
            : isOlder
              ? sum([...(rollUp ? [rollUp] : []), ...olders])
              : carriesOver
                ? expected
                : 0
          expected = start + sum(ledgers)
          const documents = [
            ...olders.map((one, at) => older(`0${at}`, one.type, one.units)),
            ...ledgers.map((one, at) => ledger(`${number}-${at}`, one.type, one.units)),
            ...(begin ? [ledger(`${number}-ledgers_monthly_rollover`, begin.type, begin.units)] : []),
            ...(rollUp ? [older('monthly_rollup', rollUp.type, rollUp.units)] : []),
          ]
          const { drafts, units: end } = read(documents, {
            ...{ accountId, accountName: 'A', month: number, before, carriesOver },
            hasRollover: begin !== undefined,
          })
          expect(end).toBe(expected)
          before = end
          const entries = drafts.filter(({ as }) => as === 'ledger')
          const rollovers = entries.filter(({ id }) => id === `${number}-ledgers_monthly_rollover`)
          const moved = entries.filter((entry) => !rollovers.includes(entry))
          const total = moved.reduce((all, { facts }) => all + Number(facts.amount), 0)
          expect(rollovers.length).toBeLessThan(2)
          const [first] = rollovers
          return { month: number, moved: total, rollover: first && Number(first.facts.amount) }
        })
        expect(reckoned(arrived, monthBefore).units).toBe(expected)
      }),
    )
  })
})

describe('months that are written together', () => {
  it('are all of them in their order, and no more entries than allowed, but for those of one large month', () => {
    const counts = fc.array(fc.nat(150), { maxLength: 40 })
    fc.assert(
      fc.property(counts, (entries) => {
        const months = new Map(entries.map((count, at) => [202401 + at, count]))
        const groups = monthsTogether(months, 100)
        expect(groups.flat()).toEqual([...months.keys()])
        const sizeOf = (group: readonly number[]) =>
          group.reduce((sum, month) => sum + (months.get(month) ?? 0), 0)
        for (const [at, group] of groups.entries()) {
          if (group.length > 1) expect(sizeOf(group)).toBeLessThanOrEqual(100)
          const next = groups[at + 1]?.[0]
          // No group that the next month would have found room in.
          if (next !== undefined) expect(sizeOf([...group, next])).toBeGreaterThan(100)
        }
      }),
    )
  })
})
