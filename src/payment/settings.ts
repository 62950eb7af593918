import { Type } from 'typebox'
import { secret } from '../lib/secrets.ts'
import { address, settingsDocument, wholeNumber } from '../settings/keys.ts'

const timeout = (fallback: number, description: string) =>
  wholeNumber({ minimum: 10, maximum: 60_000, default: fallback }, description)

const systemKeys = {
  http_url: address('URL that receives each call'),
  authorization_header: Type.Optional(
    Type.String({ maxLength: 4096, ...secret, description: 'Value of the header Authorization' }),
  ),
  signing_secret: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 1024,
      ...secret,
      description: 'Key that signs each call (X-Crosspoint-Signature)',
    }),
  ),
}

export const vendors = <T extends ReturnType<typeof Type.Object>>(keys: T) =>
  Type.Record(Type.String(), keys, {
    default: {},
    description: 'Settings by account ID of the vendor; they replace all others',
  })

const httpSync = Type.Object(
  {
    ...systemKeys,
    timeout_ms: timeout(10_000, 'Timeout of a response'),
    vendors: vendors(
      Type.Object({
        ...systemKeys,
        timeout_ms: Type.Optional(wholeNumber({ minimum: 10, maximum: 60_000 }, 'Timeout of a response')),
      }),
    ),
  },
  {
    additionalProperties: true,
    description: 'The operator’s own billing system: bookkeepers of type `http`',
  },
)

const stripeKeys = {
  api_key: Type.Optional(Type.String({ minLength: 1, maxLength: 512, ...secret, description: 'Secret key' })),
  publishable_key: Type.Optional(
    Type.String({ minLength: 1, maxLength: 512, description: 'Key for browsers that read card data' }),
  ),
  api_url: address('URL instead of https://api.stripe.com'),
  webhook_secret: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 512,
      ...secret,
      description:
        'Signing secret of the endpoint /ingest/stripe/{account ID of the vendor}; absent: no endpoint',
    }),
  ),
}

const stripe = Type.Object(
  {
    ...stripeKeys,
    timeout_ms: timeout(10_000, 'Timeout of each attempt'),
    vendors: vendors(Type.Object(stripeKeys)),
  },
  { additionalProperties: true, description: 'Bookkeepers of type `stripe`' },
)

export const httpSyncSettings = settingsDocument('services.http_sync', httpSync)
export const stripeSettings = settingsDocument('services.stripe', stripe)
