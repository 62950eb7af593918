/** An address that mail comes from. */
export interface Sender {
  address: string
  /** What mail programs show beside it. */
  name?: string
}

/** What a letter is signed with. */
export interface Signing {
  /** `d=` of the signature. */
  domain: string
  /** `s=` of the signature. */
  selector: string
  /** PEM of an RSA or Ed25519 key. */
  privateKey: string
}

/** Whose mail comes from which address, and how it is signed: what resellers have set up and proved. */
export interface Senders {
  /** The verified address of the account, else of the nearest account above that has one. */
  senderOf(accountId: string): Promise<Sender | undefined>
  /** Whether the account, or one above it, has proved that this address is its own. */
  maySendAs(accountId: string, address: string): Promise<boolean>
  /** The key of the account, or of one above it, that holds the address. Undefined when any part of it is missing. */
  signingFor(accountId: string, address: string): Promise<Signing | undefined>
}

/** Nobody has an address of their own: mail comes from the system's, unsigned. */
export const noSenders: Senders = {
  senderOf: async () => undefined,
  maySendAs: async () => false,
  signingFor: async () => undefined,
}
