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
  /** What clients are told it is called; `none`: nobody is told of addresses. */
  name: string
  /**
   * An address that the schema takes; it is stored only when this accepts it. Only a question: it is asked of changes
   * that are refused after all, and again when they are repeated.
   */
  judgeAddress(subscriber: Subscriber, address: E911): Promise<AddressVerdict>
  /** Absent: addresses and names are kept here and nowhere else. */
  registrar?: Registrar
}

/** What only a provider can know of an address, whatever a client says. */
const asGiven = ({ status: _, activated_time: __, ...address }: E911): E911 => address

/**
 * Registers nothing: addresses and names are kept as data. No word that there is for an address would be true of it:
 * nobody has looked where it is, emergency services do not know it, and nothing is wrong with it.
 */
export const storedOnly: FeatureProvider = {
  name: 'none',
  judgeAddress: async (_subscriber, address) => ({ outcome: 'accepted', address: asGiven(address) }),
}
