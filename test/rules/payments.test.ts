// What decides about money that moves.
import { createHmac } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { lowBalanceThreshold, topupDue } from '../../src/areas/billing/payments/topup/operations.ts'
import {
  coinProblems,
  maySend,
  raisedToCoin,
  type Transaction,
} from '../../src/areas/billing/payments/transactions/rules.ts'
import {
  defaultToken,
  type PaymentTokens,
  tokensWith,
  withDefault,
  withoutToken,
} from '../../src/areas/billing/services/payment-tokens/rules.ts'
import { bookkeeperKey, bookkeeperOfKey, standingAfter } from '../../src/areas/billing/services/rules.ts'
import { signatureOf } from '../../src/lib/signature.ts'
import {
  outcomeOfError,
  smallestUnits,
  stripeAmount,
  stripeLibrary,
} from '../../src/payment/stripe-library.ts'

const day = 24 * 3_600_000

describe('an automatic top-up', () => {
  const asked = { isEnabled: true, topup: { amount: 20, threshold: 5 }, balance: 0, lastAt: 0, now: day }

  it.each([
    [{}, 200_000],
    [{ balance: 49_999 }, 200_000],
    [{ balance: 50_000 }, 'balance_above_threshold'],
    [{ isEnabled: false }, 'topup_disabled'],
    [{ topup: { threshold: 5 } }, 'amount_undefined'],
    [{ topup: { amount: 0, threshold: 5 } }, 'amount_undefined'],
    [{ topup: { amount: 20 } }, 'threshold_undefined'],
    [{ topup: { amount: 20, threshold: -5 } }, 'threshold_undefined'],
    [{ topup: {} }, 'amount_and_threshold_undefined'],
    [{ topup: undefined }, 'amount_and_threshold_undefined'],
    [{ topup: { amount: '20', threshold: Number.NaN } }, 'amount_and_threshold_undefined'],
    [{ topup: { amount: 1e300, threshold: 5 } }, 'amount_undefined'],
    [{ lastAt: 1 }, 'topup_daily_limit'],
  ])('of %j is %s', (fields, outcome) => {
    expect(topupDue({ ...asked, ...fields })).toBe(outcome)
  })
})

describe('the balance below which an account is low', () => {
  it.each([
    [{}, undefined],
    [{ topup: { threshold: 5 } }, 50_000],
    [{ notifications: { low_balance: { threshold: 2.5 } }, topup: { threshold: 5 } }, 25_000],
    [{ notifications: { low_balance: {} }, topup: { threshold: 5 } }, 50_000],
    [{ notifications: { low_balance: { threshold: 0 } } }, 0],
  ])('of %j is %s units', (doc, units) => {
    expect(lowBalanceThreshold(doc)).toBe(units)
  })
})

describe('an amount', () => {
  it('is raised to the smallest coin by less than a coin', () => {
    fc.assert(
      fc.property(fc.nat(1e12), fc.constantFrom(1, 100, 10_000), (units, coin) => {
        const raised = raisedToCoin(units, coin)
        expect(raised - units).toBeGreaterThanOrEqual(0)
        expect(raised - units).toBeLessThan(coin)
        expect(coinProblems(raised, coin)).toEqual({})
      }),
    )
  })

  it.each([
    ['USD', 255_000, 2550],
    ['JPY', 250_000, 25],
    ['KWD', 255_000, 25_500],
  ])('of %s is sent to Stripe in the unit of that currency', (currency, units, amount) => {
    expect(units % smallestUnits(currency)).toBe(0)
    expect(stripeAmount(units, currency)).toBe(amount)
  })
})

describe('a transaction with an unknown result', () => {
  it('is sent again for a day', () => {
    const made = { created: 62_167_219_200 } as Transaction
    expect(maySend(made, day - 1)).toBe(true)
    expect(maySend(made, day)).toBe(false)
  })
})

describe('what Stripe says', () => {
  const { errors } = stripeLibrary()
  const card = { type: 'card_error', code: 'card_declined', message: 'No.' } as const

  it.each([
    [
      new errors.StripeCardError({ ...card, decline_code: 'insufficient_funds' }),
      { status: 'declined', code: 'insufficient_funds', message: 'No.', retryable: true },
    ],
    [
      new errors.StripeCardError({ ...card, decline_code: 'stolen_card' }),
      { status: 'declined', code: 'stolen_card', message: 'No.', retryable: false },
    ],
    [
      new errors.StripeInvalidRequestError({
        type: 'invalid_request_error',
        code: 'amount_too_small',
        message: 'No.',
        statusCode: 400,
      }),
      { status: 'declined', code: 'amount_too_small', message: 'No.', retryable: false },
    ],
  ])('of a movement that was refused is a refusal', (error, outcome) => {
    expect(outcomeOfError(error)).toEqual(outcome)
  })

  it.each([
    new errors.StripeConnectionError({ message: 'lost', type: 'api_error' }),
    new errors.StripeAPIError({ message: 'broken', type: 'api_error', statusCode: 500 }),
    new errors.StripeRateLimitError({ message: 'slow', type: 'rate_limit_error', statusCode: 429 }),
    new errors.StripeAuthenticationError({ message: 'who', type: 'invalid_request_error', statusCode: 401 }),
    new errors.StripeIdempotencyError({ message: 'key', type: 'idempotency_error', statusCode: 409 }),
    new errors.StripeInvalidRequestError({ message: 'busy', type: 'invalid_request_error', statusCode: 409 }),
    new TypeError('bug'),
  ])('otherwise says nothing of the movement: %s', (error) => {
    expect(outcomeOfError(error).status).toBe('unknown')
  })
})

describe('a signed body', () => {
  it('bears its time and an HMAC-SHA256 of both', () => {
    const v1 = createHmac('sha256', 'secret').update('1700000000.{"a":1}').digest('hex')
    expect(signatureOf('{"a":1}', ['secret'], 1_700_000_000)).toBe(`t=1700000000,v1=${v1}`)
  })
})

describe('a bookkeeper’s word on the standing', () => {
  it('begins and ends what it is about, and nothing else', () => {
    const delinquent = { status: 'delinquent', reason: 'payment_declined', reason_code: 402 } as const
    expect(standingAfter({}, 'payment_declined', false)).toEqual(delinquent)
    expect(standingAfter(delinquent, 'payment_declined', true)).toEqual({ status: 'good_standing' })
    const others = [
      delinquent,
      { status: 'delinquent', reason: 'fraud' },
      { status: 'good_standing' },
    ] as const
    for (const doc of others) expect(standingAfter(doc, 'bookkeeper_rejection', true)).toBe(doc)
    expect(standingAfter(others[1], 'bookkeeper_rejection', false)).toBe(others[1])
  })
})

describe('the name of a bookkeeper in rows', () => {
  it('leads back to it', () => {
    fc.assert(
      fc.property(fc.record({ id: fc.string(), type: fc.string(), vendor_id: fc.string() }), (bookkeeper) => {
        expect(bookkeeperOfKey(bookkeeperKey(bookkeeper))).toEqual(bookkeeper)
      }),
    )
  })
})

describe('payment methods', () => {
  const place = fc.constantFrom(...['a', 'b'].map((vendor_id) => ({ type: 'stripe', vendor_id })))
  const id = fc.constantFrom('pm_1', 'pm_2', 'pm_3', 'pm_4')
  const step = fc.oneof(
    fc.record({ kind: fc.constant('add' as const), id, place }),
    fc.record({ kind: fc.constant('prefer' as const), id }),
    fc.record({ kind: fc.constant('remove' as const), id }),
  )

  it('of a bookkeeper have one that is charged, as long as there is any', () => {
    fc.assert(
      fc.property(fc.array(step), (steps) => {
        let tokens: PaymentTokens = {}
        for (const [now, one] of steps.entries()) {
          if (one.kind === 'add') {
            // The gateways' ids differ: the same one is never at two vendors.
            const kept = { token: `${one.id}_${one.place.vendor_id}`, metadata: {} }
            tokens = tokensWith(tokens, one.place, kept, now)
          } else {
            const chosen = `${one.id}_a`
            tokens =
              one.kind === 'prefer' ? withDefault(tokens, chosen, now) : withoutToken(tokens, chosen, now)
          }
          for (const vendor_id of ['a', 'b']) {
            const there = Object.values(tokens).filter(({ bookkeeper }) => bookkeeper.vendor_id === vendor_id)
            expect(there.filter((token) => token.default)).toHaveLength(there.length > 0 ? 1 : 0)
            expect(defaultToken(tokens, { type: 'stripe', vendor_id }) !== undefined).toBe(there.length > 0)
          }
        }
      }),
    )
  })
})
