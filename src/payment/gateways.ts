import { declined, type Gateway, type GatewayDeps } from './gateway.ts'
import { createHttpGateway } from './http-gateway.ts'
import { createStripeGateway } from './stripe-gateway.ts'

const nothingToCharge = async () =>
  declined('invalid_bookkeeper', 'this billing provider keeps a balance and charges no payment method')

/** The built-in bookkeeper: a balance that is credited and debited here, without an outside payer. */
const creditGateway: Gateway = {
  capabilities: { charges: false, tokens: false, syncs: false, monthly: 'balance' },
  isReady: async () => true,
  patienceMs: async () => 0,
  smallestUnits: () => 1,
  charge: nothingToCharge,
  refund: nothingToCharge,
  lookup: async () => ({ status: 'absent' }),
  syncInvoice: async () => ({ status: 'synced' }),
}

export interface Gateways {
  of(bookkeeperType: string): Gateway | undefined
}

export const createGateways = (deps: GatewayDeps): Gateways => {
  const gateways = new Map<string, Gateway>([
    ['default', creditGateway],
    ['http', createHttpGateway(deps)],
    ['stripe', createStripeGateway(deps)],
  ])
  return { of: (type) => gateways.get(type) }
}
