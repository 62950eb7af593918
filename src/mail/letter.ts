import type { Keyring } from '../auth/keyring.ts'

/** What a letter says. */
export interface Content {
  subject: string
  text?: string
  html?: string
  replyTo?: string
  /** An address that a template asks for instead of the account's, and the account whose template it is. */
  from?: { address: string; accountId: string }
}

const contextOf = (id: string) => `letter/${id}`

export const sealContent = (keyring: Keyring, id: string, content: Content) =>
  keyring.seal(JSON.stringify(content), contextOf(id))

export const openContent = (keyring: Keyring, id: string, sealed: string) =>
  JSON.parse(keyring.open(sealed, contextOf(id))) as Content
