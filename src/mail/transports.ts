import { mkdir, open, opendir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Transporter } from 'nodemailer'
import { type Clock, isoTime } from '../lib/clock.ts'
import { codeOf, messageOf } from '../lib/error-facts.ts'
import { dayMs } from '../lib/gregorian.ts'
import { memberOf } from '../lib/member.ts'
import { reportSpan } from '../lib/trace.ts'
import { type Calls, serverIn } from '../outgoing/calls.ts'
import { nodemailer, type QueuedMailJob } from './message.ts'

export interface MailTransport {
  /** Resolves with the reply of a server that accepted the mail; else rejects. */
  send(message: Buffer, from: string, job: QueuedMailJob): Promise<string>
  close(): void
}

/** Why a mail was not accepted. */
export interface MailRefusal {
  /** A repeat would be refused, too. */
  isFinal: boolean
  /** The server is unreachable, also for other mails. */
  isServerDown: boolean
  reason: string
}

/** Pooled connections to the mail server. */
export const maxConcurrentMails = 4

const timeouts = { connectionTimeout: 8000, greetingTimeout: 8000, socketTimeout: 20_000 }

// RFC 2606 reserves the name. Users of a demo have such addresses, and no mail server shall bounce their mail.
const nowhere = /[@.]invalid\.?$/i

const refuseNowhere = (recipient: string) => {
  if (!nowhere.test(recipient)) return
  const message = `${recipient} is not a real address: no email is sent to names under .invalid`
  // The code that the library uses for an address it cannot send to.
  throw Object.assign(new Error(message), { code: 'EENVELOPE' })
}

/** `code`: first digits of the server's reply, such as 250 or 550. */
const reportReply = (code: number) => reportSpan(code > 0 ? { 'crosspoint.smtp_reply_code': code } : {})

const replyCodeOf = (error: unknown) => {
  const sent = memberOf(error, 'responseCode')
  return typeof sent === 'number' ? sent : 0
}

/** Credentials and TLS follow from the URL. */
export const smtpTransport = (url: string, calls: Calls): MailTransport => {
  let transport: Transporter | undefined
  const call = {
    purpose: 'mail',
    name: 'SEND mail',
    kind: 'client',
    facts: { 'network.protocol.name': 'smtp', ...serverIn(url) },
    outcomeOf(reply: string) {
      reportReply(Number.parseInt(reply, 10))
      return 'done'
    },
    faultOf(error: unknown) {
      reportReply(replyCodeOf(error))
      return mailRefusalOf(error).isServerDown ? 'unreachable' : 'refused'
    },
  } as const
  return {
    async send(message, from, { payload: { recipient } }) {
      refuseNowhere(recipient)
      const { createTransport } = await nodemailer()
      transport ??= createTransport({ url, pool: true, maxConnections: maxConcurrentMails, ...timeouts })
      const sending = transport
      return calls.watch(call, async () => {
        const { response } = await sending.sendMail({ envelope: { from, to: recipient }, raw: message })
        return String(response)
      })
    },
    close: () => transport?.close(),
  }
}

/** A reader of the folder never sees an incomplete file. */
const writeDurably = async (file: string, bytes: Buffer) => {
  const part = `${file}.part`
  const handle = await open(part, 'w', 0o600)
  try {
    await handle.writeFile(bytes)
    await handle.sync()
  } catch (error) {
    // On a full disk, an incomplete file would take the space that the next attempt needs.
    await rm(part, { force: true })
    throw error
  } finally {
    await handle.close()
  }
  await rename(part, file)
}

const hourMs = 3_600_000

/** File names begin with the time of the mail, and sort by it. */
const nameAt = (unixMs: number) => isoTime(unixMs).replaceAll(':', '-')

const removeBefore = async (folder: string, before: string) => {
  for await (const { name } of await opendir(folder))
    if (/\.eml(\.part)?$/.test(name) && name < before) await rm(join(folder, name), { force: true })
}

/** Writes files, for servers without SMTP. A new mail deletes old ones, at most once an hour. */
export const folderTransport = (
  folder: string,
  { clock, daysKept }: { clock: Clock; daysKept(): Promise<number> },
): MailTransport => {
  let tidiedAt = 0

  const tidy = async () => {
    const now = clock.now()
    if (now - tidiedAt < hourMs) return
    tidiedAt = now
    await removeBefore(folder, nameAt(now - (await daysKept()) * dayMs))
  }

  return {
    async send(message, _from, { id, payload: { created } }) {
      await mkdir(folder, { recursive: true, mode: 0o700 })
      await tidy()
      // A repeat after a crash gets the same name.
      const name = `${nameAt(created)}-${id.slice(12)}.eml`
      await writeDurably(join(folder, name), message)
      return name
    },
    close() {},
  }
}

// About one mail; every other code is about the connection or the sign-in at the server.
const codesOfMail = new Set<unknown>(['EENVELOPE', 'EMESSAGE'])

export const mailRefusalOf = (error: unknown): MailRefusal => {
  const code = codeOf(error)
  const replyCode = replyCodeOf(error)
  const isOfMail = codesOfMail.has(code)
  return {
    // An address that the library itself cannot send to has no reply code.
    isFinal: isOfMail && (replyCode >= 500 || (code === 'EENVELOPE' && replyCode === 0)),
    isServerDown: !isOfMail,
    reason: messageOf(error),
  }
}
