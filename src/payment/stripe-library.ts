import { createRequire } from 'node:module'
import type Stripe from 'stripe'

const load = createRequire(import.meta.url)

let loaded: typeof Stripe | undefined

/** Stripe's own library: 35 MB, loaded when the first account pays through it. */
export const stripeLibrary = (): typeof Stripe => {
  loaded ??= load('stripe') as typeof Stripe
  return loaded
}
