import { declined, type Gateway } from './gateway.ts'

const nothingToCharge = async () =>
  declined('invalid_bookkeeper', 'this bookkeeper keeps a balance and charges nobody')

/** The built-in bookkeeper: a balance that is credited and debited here, and nobody outside who would be charged. */
export const creditGateway: Gateway = {
  capabilities: { charges: false, tokens: false, syncs: false, monthly: 'balance' },
  isReady: async () => true,
  patienceMs: async () => 0,
  smallestUnits: () => 1,
  charge: nothingToCharge,
  refund: nothingToCharge,
  lookup: async () => ({ status: 'absent' }),
  syncInvoice: async () => ({ status: 'synced' }),
}
