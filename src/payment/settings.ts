import { Type } from 'typebox'
import { secret } from '../lib/secrets.ts'
import { address, settingsDocument, wholeNumber } from '../settings/keys.ts'

const timeout = (fallback: number, description: string) =>
  wholeNumber({ minimum: 10, maximum: 60_000, default: fallback }, description)

const systemKeys = {
  http_url: address('Where every call is posted'),
  authorization_header: Type.Optional(
    Type.String({ maxLength: 4096, ...secret, description: 'Sent as it is in the header Authorization' }),
  ),
  signing_secret: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 1024,
      ...secret,
      description: 'Signs every call: X-Crosspoint-Signature',
    }),
  ),
}

export const vendors = <T extends ReturnType<typeof Type.Object>>(keys: T) =>
  Type.Record(Type.String(), keys, {
    default: {},
    description:
      'Account ID of a billing provider’s vendor -> settings of its billing providers, instead of all others',
  })

const httpSync = Type.Object(
  {
    ...systemKeys,
    timeout_ms: timeout(10_000, 'How long an answer is waited for'),
    vendors: vendors(
      Type.Object({
        ...systemKeys,
        timeout_ms: Type.Optional(
          wholeNumber({ minimum: 10, maximum: 60_000 }, 'How long an answer is waited for'),
        ),
      }),
    ),
  },
  {
    additionalProperties: true,
    description: 'The operator’s own billing system: bookkeepers of type `http`',
  },
)

const stripeKeys = {
  api_key: Type.Optional(
    Type.String({ minLength: 1, maxLength: 512, ...secret, description: 'The secret key' }),
  ),
  publishable_key: Type.Optional(
    Type.String({ minLength: 1, maxLength: 512, description: 'Given to browsers that take a card' }),
  ),
  api_url: address('Instead of https://api.stripe.com'),
  webhook_secret: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 512,
      ...secret,
      description:
        'The signing secret of the endpoint /ingest/stripe/{account id of the vendor}; absent: there is none',
    }),
  ),
}

const stripe = Type.Object(
  {
    ...stripeKeys,
    timeout_ms: timeout(10_000, 'How long each try of a call may take'),
    vendors: vendors(Type.Object(stripeKeys)),
  },
  { additionalProperties: true, description: 'Bookkeepers of type `stripe`' },
)

export const httpSyncSettings = settingsDocument('services.http_sync', httpSync)
export const stripeSettings = settingsDocument('services.stripe', stripe)
