import type { Clock } from '../lib/clock.ts'
import type { Calls } from '../outgoing/calls.ts'
import type { Outgoing } from '../outgoing/client.ts'
import type { Settings } from '../settings/settings.ts'
import { creditGateway } from './credit-gateway.ts'
import type { Gateway } from './gateway.ts'
import { createHttpGateway } from './http-gateway.ts'
import { createStripeGateway } from './stripe-gateway.ts'

interface Deps {
  outgoing: Outgoing
  calls: Calls
  settings: Settings
  clock: Clock
}

/** The gateway for a type of bookkeeper; undefined when there is none. */
export interface Gateways {
  of(bookkeeperType: string): Gateway | undefined
}

export const createGateways = (tools: Deps): Gateways => {
  const gateways = new Map<string, Gateway>([
    ['default', creditGateway],
    ['http', createHttpGateway(tools)],
    ['stripe', createStripeGateway(tools)],
  ])
  return { of: (type) => gateways.get(type) }
}
