import { Type } from 'typebox'

const address = (description: string) => Type.String({ pattern: '^https?://', maxLength: 2048, description })
const timeout = (fallback: number, description: string) =>
  Type.Integer({ minimum: 10, maximum: 60_000, default: fallback, description })

const systemKeys = {
  http_url: Type.Optional(address('Where every call is posted')),
  authorization_header: Type.Optional(
    Type.String({ maxLength: 4096, description: 'Sent as it is in the header Authorization' }),
  ),
  signing_secret: Type.Optional(
    Type.String({ minLength: 1, maxLength: 1024, description: 'Signs every call: X-Crosspoint-Signature' }),
  ),
}

/** Bookkeepers of a vendor that has its own ones. */
const vendors = <T extends ReturnType<typeof Type.Object>>(keys: T) =>
  Type.Record(Type.String(), keys, {
    default: {},
    description:
      'Account id of a bookkeeper’s vendor -> what holds for its bookkeepers, instead of all the rest',
  })

/** The operator's own billing system: bookkeepers of type `http`. */
export const httpSync = Type.Object(
  {
    ...systemKeys,
    timeout_ms: timeout(10_000, 'How long an answer is waited for'),
    vendors: vendors(
      Type.Object({
        ...systemKeys,
        timeout_ms: Type.Optional(Type.Integer({ minimum: 10, maximum: 60_000 })),
      }),
    ),
  },
  { additionalProperties: true },
)

const stripeKeys = {
  api_key: Type.Optional(Type.String({ minLength: 1, maxLength: 512, description: 'The secret key' })),
  publishable_key: Type.Optional(
    Type.String({ minLength: 1, maxLength: 512, description: 'Given to browsers that take a card' }),
  ),
  api_url: Type.Optional(address('In place of https://api.stripe.com')),
  webhook_secret: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 512,
      description:
        'The signing secret of the endpoint /ingest/stripe/{account id of the vendor}; absent: there is none',
    }),
  ),
}

/** Bookkeepers of type `stripe`. */
export const stripe = Type.Object(
  {
    ...stripeKeys,
    timeout_ms: timeout(10_000, 'How long each try of a call may take'),
    vendors: vendors(Type.Object(stripeKeys)),
  },
  { additionalProperties: true },
)

const numberPrefix = (fallback?: string) =>
  Type.String({
    maxLength: 32,
    pattern: '^[A-Za-z0-9/._-]*$',
    ...(fallback === undefined ? {} : { default: fallback }),
    description: 'In front of the year and the number of invoices and credit notes',
  })

/** Documents that months become. */
export const invoices = Type.Object(
  {
    number_prefix: numberPrefix(''),
    due_days: Type.Integer({
      minimum: 0,
      maximum: 365,
      default: 14,
      description: 'Days after its issue at which an invoice is due',
    }),
    font: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 4096,
        description: 'Path of a TrueType font for PDF, in place of DejaVu Sans: for scripts that it has not',
      }),
    ),
    vendors: vendors(Type.Object({ number_prefix: Type.Optional(numberPrefix()) })),
  },
  { additionalProperties: true },
)

const dunningDays = (fallback: number, description: string) =>
  Type.Integer({ minimum: 0, maximum: 365, default: fallback, description })

/** What happens to invoices that are not paid. */
export const dunning = Type.Object(
  {
    attempt_days: Type.Array(Type.Integer({ minimum: 1, maximum: 365 }), {
      default: [3, 7, 14],
      maxItems: 20,
      description: 'Days after the first refusal on which a payment is tried again, in ascending order',
    }),
    grace_days: dunningDays(7, 'Days after the last try until the account is delinquent'),
    uncollectible_days: dunningDays(
      60,
      'Days after that until the invoice is uncollectible; 0: it stays open',
    ),
    of_balances: Type.Boolean({
      default: false,
      description:
        'The same for invoices that are paid from a balance, counted from the day on which they are due',
    }),
  },
  { additionalProperties: true },
)

export const topup = Type.Object(
  {
    enable: Type.Boolean({
      default: false,
      description: 'Top accounts up by themselves, as their `topup` says',
    }),
  },
  { additionalProperties: true },
)

/** Keys of the document `services` that are about payment. */
export const paymentKeys = {
  currency: Type.String({
    default: 'USD',
    pattern: '^[A-Z]{3}$',
    description: 'Of all money (ISO 4217). Amounts are not converted when it changes',
  }),
  sync_buffer_period: Type.Integer({
    minimum: 0,
    maximum: 86_400,
    default: 600,
    description: 'Seconds in which changes of an invoice are gathered before its bookkeeper is told',
  }),
}
