import { accountAdmin } from '../../../../auth/policies.ts'
import { answer } from '../../../../http/response/responses.ts'
import { del, get, post, put, type Route } from '../../../../http/route.ts'
import { notConfigured } from '../../../../lib/failure.ts'
import { anyObject, anyText, closed, flag, integer, list, must, open, text } from '../../../../lib/schema.ts'
import { processorError, processorUnreachable } from '../../../../payment/failures.ts'
import type { PaymentTokenLookup } from './operations.ts'

const NewPaymentToken = open(
  {
    payment_method: must(
      text(1, 255, { pattern: '^[A-Za-z0-9_-]+$', description: 'The id that the gateway gave the browser' }),
    ),
    default: flag({ description: 'Charge this one from now on; the first one is charged anyway' }),
  },
  { title: 'Payment method' },
)

export const PaymentToken = open(
  {
    id: must(anyText()),
    bookkeeper: must(anyObject()),
    default: must(flag({ description: 'Whether this is the one that is charged' })),
    created: must(integer({ description: 'Gregorian seconds' })),
    modified: must(integer({ description: 'Gregorian seconds' })),
    expiration: integer({ description: 'Gregorian seconds' }),
    metadata: must(anyObject({ description: 'brand, last_four and the like' })),
  },
  { title: 'Payment token' },
)

const PaymentSetup = open({
  client_secret: must(
    anyText({ description: 'Allows a browser to give one payment method to the payment processor' }),
  ),
  publishable_key: anyText(),
})

const base = '/v2/accounts/{account_id}/services/payment_tokens'

const fails = [notConfigured, processorError, processorUnreachable]

export const paymentTokenRoutes = (tokens: PaymentTokenLookup): Route[] => {
  const common = { allow: accountAdmin, answers: PaymentToken }
  return [
    get(base, {
      summary: 'List the payment methods of an account',
      allow: accountAdmin,
      answers: list(PaymentToken),
      run: ({ account }) => tokens.list(account.id),
    }),
    put(base, {
      summary: 'Store a payment method that a browser gave to the payment processor',
      ...common,
      body: NewPaymentToken,
      fails,
      run: async ({ author, account, data }) => {
        const token = await tokens.keep(author, account, data.payment_method, data.default === true)
        return answer({ data: token, created: token.id })
      },
    }),
    put(`${base}/setup`, {
      summary: 'Read the values that a browser needs to give a payment method to the payment processor',
      allow: accountAdmin,
      answers: PaymentSetup,
      fails,
      run: ({ account }) => tokens.begin(account),
    }),
    get(`${base}/{token_id}`, {
      summary: 'Read a payment method',
      ...common,
      run: async ({ path }) => answer({ data: await tokens.get(path.account_id, path.token_id) }),
    }),
    post(`${base}/{token_id}`, {
      summary: 'Make this payment method the default',
      ...common,
      body: closed({ default: must(flag({ enum: [true] })) }),
      run: async ({ author, account, path }) =>
        answer({ data: await tokens.prefer(author, account, path.token_id) }),
    }),
    del(`${base}/{token_id}`, {
      summary: 'Delete a payment method, here and at the payment processor',
      ...common,
      fails,
      run: async ({ author, account, path }) =>
        answer({ data: await tokens.remove(author, account, path.token_id), metadata: { deleted: true } }),
    }),
  ]
}
