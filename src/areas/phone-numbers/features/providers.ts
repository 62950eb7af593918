import type { E911 } from '../schema.ts'

/** The number, and the account, that something is registered for. */
export interface Subscriber {
  number: string
  accountId: string
}

export type AddressVerdict =
  /** The address, completed as far as the provider knows better, with its `status`. */
  | { outcome: 'accepted'; address: E911 }
  | { outcome: 'invalid'; message: string }
  | { outcome: 'ambiguous'; addresses: readonly E911[] }

/** Somebody outside who registers what numbers have: addresses for emergency services, and names. */
export interface FeatureProvider {
  /** An address that the schema takes; it is stored only when this accepts it. Repeating it does no harm. */
  registerAddress(subscriber: Subscriber, address: E911): Promise<AddressVerdict>
  removeAddress(subscriber: Subscriber): Promise<void>
  /** The name that is shown to those whom the number calls; undefined: none any more. */
  registerName(subscriber: Subscriber, displayName: string | undefined): Promise<void>
}

/**
 * Registers nothing: addresses and names are kept as data. Of the words there are for an address, `GEOCODED` is the one
 * that does not lie: taken as an address, and not provisioned. `PROVISIONED` would say that emergency services know it;
 * the others, that something is wrong with it.
 */
export const storedOnly: FeatureProvider = {
  registerAddress: async (_subscriber, address) => ({
    outcome: 'accepted',
    address: { ...address, status: 'GEOCODED' },
  }),
  removeAddress: async () => {},
  registerName: async () => {},
}
