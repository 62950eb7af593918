import { mkdir, open, rename } from 'node:fs/promises'
import { join } from 'node:path'
import type { Transporter } from 'nodemailer'
import { type Clock, isoTime } from '../lib/clock.ts'
import { randomHex } from '../lib/ids.ts'

export interface Letter {
  to: string
  subject: string
  text: string
}

export interface Delivery {
  /** Takes one letter on; rejects when it could not be handed over. */
  deliver(letter: Letter, from: string): Promise<void>
  close(): void
}

const messageOf = ({ to, subject, text }: Letter, from: string) => ({
  // Objects, so that no text is ever parsed into several addresses.
  from: { name: '', address: from },
  to: { name: '', address: to },
  subject,
  text,
  disableFileAccess: true,
  disableUrlAccess: true,
})

// Loaded when the first letter is written: a server that sends none does not pay for it.
const nodemailer = async () => (await import('nodemailer')).default

// The library logs nothing; a server that does not answer must not hold a letter for minutes.
const timeouts = { connectionTimeout: 8000, greetingTimeout: 8000, socketTimeout: 20_000 }

/** Over SMTP; credentials and TLS as the URL says. */
export const deliverBySmtp = (url: string): Delivery => {
  let transport: Transporter | undefined
  return {
    async deliver(letter, from) {
      const { createTransport } = await nodemailer()
      transport ??= createTransport({ url, pool: true, maxConnections: 4, ...timeouts })
      await transport.sendMail(messageOf(letter, from))
    },
    close: () => transport?.close(),
  }
}

const writeDurably = async (file: string, bytes: Buffer) => {
  const handle = await open(`${file}.part`, 'wx', 0o600)
  try {
    await handle.writeFile(bytes)
    await handle.sync()
  } finally {
    await handle.close()
  }
  // A reader of the folder never meets half a letter.
  await rename(`${file}.part`, file)
}

/** Into files, for servers without SMTP: people read them with any mail program. */
export const deliverToFolder = (folder: string, clock: Clock): Delivery => ({
  async deliver(letter, from) {
    const transport = (await nodemailer()).createTransport({
      streamTransport: true,
      buffer: true,
      newline: 'windows',
    })
    const { message } = await transport.sendMail(messageOf(letter, from))
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const name = `${isoTime(clock.now()).replaceAll(':', '-')}-${randomHex(4)}.eml`
    await writeDurably(join(folder, name), message as Buffer)
  },
  close() {},
})
