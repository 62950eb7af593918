import type { Keyring } from '../auth/keyring.ts'
import type { Job } from '../jobs/queue.ts'
import { present } from '../lib/json.ts'
import type { Sender } from './senders.ts'

export const mailKind = 'mail'

/** A mail in the queue. Times are Unix milliseconds. */
export interface QueuedMail {
  notice: string
  recipient: string
  /** The account whose log has it. */
  loggedBy: string
  messageId: string
  /** Encrypted content: it may hold codes and links. Deleted when the mail is settled. */
  sealed: string
  created: number
  /** The mail is not sent later than this. */
  goodUntil: number
}

export type QueuedMailJob = Job<QueuedMail>

/** The document is made when the mail is sent, so that queued mails are small. */
export interface Attachment {
  fileName: string
  contentType: string
  document: { kind: string; accountId: string; id: string }
}

export type DocumentOf = (document: Attachment['document']) => Promise<Uint8Array>

export interface Content {
  subject: string
  text?: string
  html?: string
  replyTo?: string
  attachments?: readonly Attachment[]
  /** Replaces the name that belongs to the sender's address. */
  senderName?: string
  /** An address that a template sets instead of the account's, and the account of the template. */
  from?: { address: string; accountId: string }
}

const sealContext = (id: string) => `letter/${id}`

export const sealContent = (keyring: Keyring, id: string, content: Content) =>
  keyring.seal(JSON.stringify(content), sealContext(id))

export const openContent = (keyring: Keyring, id: string, sealed: string): Content =>
  JSON.parse(keyring.open(sealed, sealContext(id)))

interface Envelope {
  from: Sender
  to: string
  messageId: string
  /** Unix milliseconds: the same for each attempt. */
  date: number
}

// Loaded with the first mail: a server that sends none saves the memory.
export const nodemailer = async () => (await import('nodemailer')).default

const attached = async ({ fileName, contentType, document }: Attachment, documentOf: DocumentOf) => ({
  filename: fileName,
  contentType,
  content: Buffer.from(await documentOf(document)),
})

/** The bytes of a mail. */
export const composeMessage = async (
  { subject, text, html, replyTo, attachments = [] }: Content,
  { from, to, messageId, date }: Envelope,
  documentOf: DocumentOf,
): Promise<Buffer> => {
  const { createTransport } = await nodemailer()
  const transport = createTransport({ streamTransport: true, buffer: true, newline: 'windows' })
  const { message } = await transport.sendMail({
    // Objects, so that no text is parsed into several addresses.
    from: { name: from.name ?? '', address: from.address },
    to: { name: '', address: to },
    ...(replyTo ? { replyTo: { name: '', address: replyTo } } : {}),
    subject,
    messageId: `<${messageId}>`,
    date: new Date(date),
    ...present({ text, html }),
    attachments: await Promise.all(attachments.map((attachment) => attached(attachment, documentOf))),
    disableFileAccess: true,
    disableUrlAccess: true,
  })
  if (!Buffer.isBuffer(message)) throw new Error('the message came as a stream')
  return message
}
