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

/** What is told to somebody outside after it is committed. */
export interface Registrar {
  /** `key` is the same for every repeat. Refusing says that emergency services will not find the number there. */
  registerAddress(
    subscriber: Subscriber,
    address: E911,
    key: string,
  ): Promise<{ outcome: 'registered' } | { outcome: 'refused'; message: string }>
  removeAddress(subscriber: Subscriber, key: string): Promise<void>
  /** The name that is shown to those whom the number calls; undefined: none any more. */
  registerName(subscriber: Subscriber, displayName: string | undefined, key: string): Promise<void>
}

/** Somebody outside who knows about addresses for emergency services, and about names. */
export interface FeatureProvider {
  /**
   * An address that the schema takes; it is stored only when this accepts it. Only a question: it is asked of changes
   * that are refused after all, and again when they are repeated.
   */
  judgeAddress(subscriber: Subscriber, address: E911): Promise<AddressVerdict>
  /** Absent: addresses and names are kept here and nowhere else. */
  registrar?: Registrar
}

/**
 * Registers nothing: addresses and names are kept as data. Of the words there are for an address, `GEOCODED` is the one
 * that does not lie: taken as an address, and not provisioned. `PROVISIONED` would say that emergency services know it;
 * the others, that something is wrong with it.
 */
export const storedOnly: FeatureProvider = {
  judgeAddress: async (_subscriber, address) => ({
    outcome: 'accepted',
    address: { ...address, status: 'GEOCODED' },
  }),
}
