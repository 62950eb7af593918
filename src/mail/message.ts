import type { Content, DocumentOf } from './letter.ts'
import type { Sender } from './senders.ts'

/** What stands around the content. */
interface Envelope {
  from: Sender
  to: string
  messageId: string
  /** Unix milliseconds: the same for each attempt. */
  date: number
}

// Loaded when the first letter is written: a server that sends none does not pay for it.
export const nodemailer = async () => (await import('nodemailer')).default

const attached = ({ attachments = [] }: Content, documentOf: DocumentOf) =>
  Promise.all(
    attachments.map(async ({ fileName, contentType, document }) => ({
      filename: fileName,
      contentType,
      content: Buffer.from(await documentOf(document)),
    })),
  )

/** The bytes of a mail. */
export const composeMessage = async (
  content: Content,
  { from, to, messageId, date }: Envelope,
  documentOf: DocumentOf,
): Promise<Buffer> => {
  const { subject, text, html, replyTo } = content
  const transport = (await nodemailer()).createTransport({
    streamTransport: true,
    buffer: true,
    newline: 'windows',
  })
  const { message } = await transport.sendMail({
    // Objects, so that no text is ever parsed into several addresses.
    from: { name: from.name ?? '', address: from.address },
    to: { name: '', address: to },
    ...(replyTo ? { replyTo: { name: '', address: replyTo } } : {}),
    subject,
    messageId: `<${messageId}>`,
    date: new Date(date),
    ...(text === undefined ? {} : { text }),
    ...(html === undefined ? {} : { html }),
    ...(content.attachments ? { attachments: await attached(content, documentOf) } : {}),
    disableFileAccess: true,
    disableUrlAccess: true,
  })
  if (!Buffer.isBuffer(message)) throw new Error('the message came as a stream')
  return message
}
