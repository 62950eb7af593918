import type Stripe from 'stripe'
import { codeOf } from '../lib/error-facts.ts'
import { type Calls, httpOutcome, serverIn, traceHeaders } from '../outgoing/calls.ts'
import { stripeLibrary } from './stripe-library.ts'

type Client = ReturnType<typeof Stripe.createNodeHttpClient>

/** What Stripe's library calls with, each try of it watched. Paths name customers and payments, and are not told. */
export const watchedStripeHttp = (calls: Calls): Client => {
  const plain = stripeLibrary().createNodeHttpClient()
  return {
    getClientName: () => plain.getClientName(),
    makeRequest: (host, port, path, method, headers, data, protocol, timeout) =>
      calls.watch(
        {
          purpose: 'stripe',
          name: `${method} stripe`,
          kind: 'client',
          facts: { 'http.request.method': method, ...serverIn(`${protocol}://${host}:${port}`) },
          outcomeOf: (answer) => httpOutcome(answer.getStatusCode()),
          faultOf: (error) => (codeOf(error) === 'ETIMEDOUT' ? 'timeout' : 'unreachable'),
        },
        () =>
          plain.makeRequest(
            host,
            port,
            path,
            method,
            { ...headers, ...traceHeaders() },
            data,
            protocol,
            timeout,
          ),
      ),
  }
}
