import type { Keyring } from '../auth/keyring.ts'
import type { Job } from '../jobs/queue.ts'

/** The kind of errand that a letter is. */
export const mailKind = 'mail'

/** What waits to be sent. Times are Unix milliseconds. */
export interface QueuedMail {
  notice: string
  recipient: string
  /** The account whose log has it. */
  loggedBy: string
  messageId: string
  /** What it says, encrypted: it may hold codes and links. Gone when the letter is settled. */
  sealed: string
  created: number
  /** After it nobody has a use for the letter. */
  goodUntil: number
}

export type QueuedMailJob = Job<QueuedMail>

/** A document that goes with a letter. It is made when the letter is sent: letters that wait are small. */
export interface Attachment {
  fileName: string
  contentType: string
  document: { kind: string; accountId: string; id: string }
}

/** Makes the documents that letters name. */
export type DocumentOf = (document: Attachment['document']) => Promise<Uint8Array>

/** What a letter says. */
export interface Content {
  subject: string
  text?: string
  html?: string
  replyTo?: string
  attachments?: readonly Attachment[]
  /** Shown next to the sender's address instead of the name that belongs to it. */
  senderName?: string
  /** An address that a template asks for instead of the account's, and the account whose template it is. */
  from?: { address: string; accountId: string }
}

const contextOf = (id: string) => `letter/${id}`

export const sealContent = (keyring: Keyring, id: string, content: Content) =>
  keyring.seal(JSON.stringify(content), contextOf(id))

export const openContent = (keyring: Keyring, id: string, sealed: string): Content =>
  JSON.parse(keyring.open(sealed, contextOf(id)))
