/** The sender of a mail. */
export interface Sender {
  address: string
  name?: string
}

export interface Signing {
  /** `d=` of the signature. */
  domain: string
  /** `s=` of the signature. */
  selector: string
  /** PEM of an RSA or Ed25519 key. */
  privateKey: string
}

/** Sender addresses and keys that resellers have set up. */
export interface Senders {
  /** The verified address of the account or of its nearest parent that has one. */
  senderOf(accountId: string): Promise<Sender | undefined>
  /** Whether the account or one of its parents has verified the address. */
  maySendAs(accountId: string, address: string): Promise<boolean>
  /** The key of the account, or of its nearest parent, that has the address. Undefined if any part of it is missing. */
  signingFor(accountId: string, address: string): Promise<Signing | undefined>
}

/** Mail comes from the system's address, unsigned. */
export const noSenders: Senders = {
  senderOf: async () => undefined,
  maySendAs: async () => false,
  signingFor: async () => undefined,
}
