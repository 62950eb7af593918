import type { Static } from 'typebox'
import { anyObject, anyText, flag, integer, must, open, text } from '../../../../lib/schema.ts'

/** A payment method that a browser has handed to the gateway. */
export const NewPaymentToken = open(
  {
    payment_method: must(
      text(1, 255, { pattern: '^[A-Za-z0-9_-]+$', description: 'The id that the gateway gave the browser' }),
    ),
    default: flag({ description: 'Charge this one from now on; the first one is charged anyway' }),
  },
  { title: 'Payment method' },
)
export type NewPaymentToken = Static<typeof NewPaymentToken>

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

export const PaymentSetup = open({
  client_secret: must(anyText({ description: 'Lets a browser hand one payment method to the gateway' })),
  publishable_key: anyText(),
})
