import { mkdir, open, opendir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Transporter } from 'nodemailer'
import { type Clock, isoTime } from '../lib/clock.ts'
import { codeOf, messageOf } from '../lib/error-facts.ts'
import { dayMs } from '../lib/gregorian.ts'
import { memberOf } from '../lib/member.ts'
import { reportSpan } from '../lib/trace.ts'
import { type Calls, serverIn } from '../outgoing/calls.ts'
import type { QueuedMailJob } from './letter.ts'
import { nodemailer } from './message.ts'

/** What takes a finished mail away. */
export interface MailTransport {
  /** Resolves with what was said when the mail was taken on; rejects when it was not. */
  carry(message: Buffer, from: string, letter: QueuedMailJob): Promise<string>
  close(): void
}

/** Why a mail was not taken on. */
export interface Refusal {
  /** The same mail would be refused again: it is not tried any more. */
  isFinal: boolean
  /** The server itself is not to be reached: other mails have no better chance now. */
  isServerDown: boolean
  reason: string
}

/** Connections to the mail server at a time, each kept for the next letter. */
export const maxConcurrentMails = 4

// A server that does not answer must not hold a letter for minutes.
const timeouts = { connectionTimeout: 8000, greetingTimeout: 8000, socketTimeout: 20_000 }

// The name that RFC 2606 keeps for what does not exist: a demo's people have it, and no mail server is to bounce their mail.
const nowhere = /[@.]invalid\.?$/i

const refuseNowhere = (recipient: string) => {
  if (!nowhere.test(recipient)) return
  // As the library says it of an address that it cannot send to.
  throw Object.assign(new Error(`${recipient} leads nowhere: mail is not sent to names under .invalid`), {
    code: 'EENVELOPE',
  })
}

/** What a mail server answers with, as it begins: 250, 550. */
const replyFacts = (code: number) => (code > 0 ? { 'crosspoint.smtp_reply_code': code } : {})

const replyCodeOf = (error: unknown) => {
  const sent = memberOf(error, 'responseCode')
  return typeof sent === 'number' ? sent : 0
}

/** Over SMTP; credentials and TLS as the URL says. */
export const courierBySmtp = (url: string, calls: Calls): MailTransport => {
  let transport: Transporter | undefined
  const call = {
    purpose: 'mail',
    name: 'SEND mail',
    kind: 'client',
    facts: { 'network.protocol.name': 'smtp', ...serverIn(url) },
    outcomeOf(reply: string) {
      reportSpan(replyFacts(Number.parseInt(reply, 10)))
      return 'done'
    },
    faultOf(error: unknown) {
      reportSpan(replyFacts(replyCodeOf(error)))
      return refusalOf(error).isServerDown ? 'unreachable' : 'refused'
    },
  } as const
  return {
    async carry(message, from, { payload: { recipient } }) {
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

const writeDurably = async (file: string, bytes: Buffer) => {
  const part = `${file}.part`
  const handle = await open(part, 'w', 0o600)
  try {
    await handle.writeFile(bytes)
    await handle.sync()
  } catch (error) {
    // Half a letter on a full disk would keep the room that the next try needs.
    await rm(part, { force: true })
    throw error
  } finally {
    await handle.close()
  }
  // A reader of the folder never meets half a letter.
  await rename(part, file)
}

/** How long letters lie in a folder. */
interface Keeping {
  clock: Clock
  daysKept(): Promise<number>
}

const hourMs = 3_600_000

/** Names begin with the time at which the letter was made, and so are in its order. */
const nameAt = (unixMs: number) => isoTime(unixMs).replaceAll(':', '-')

const removeBefore = async (folder: string, name: string) => {
  for await (const entry of await opendir(folder)) {
    if (!entry.name.endsWith('.eml') && !entry.name.endsWith('.eml.part')) continue
    if (entry.name < name) await rm(join(folder, entry.name), { force: true })
  }
}

/**
 * Into files, for servers without SMTP: people read them with any mail program. Whatever is too old goes, once an hour
 * at most, when another letter comes: without one the folder does not grow.
 */
export const courierToFolder = (folder: string, { clock, daysKept }: Keeping): MailTransport => {
  let tidiedAt = 0

  const tidy = async () => {
    const now = clock.now()
    if (now - tidiedAt < hourMs) return
    tidiedAt = now
    await removeBefore(folder, nameAt(now - (await daysKept()) * dayMs))
  }

  return {
    async carry(message, _from, { id, payload: { created } }) {
      await mkdir(folder, { recursive: true, mode: 0o700 })
      await tidy()
      // The same name when a crash lets the letter be written again.
      const name = `${nameAt(created)}-${id.slice(12)}.eml`
      await writeDurably(join(folder, name), message)
      return name
    },
    close() {},
  }
}

// Said about one letter; every other code is about the connection or the sign-in at the server.
const aboutTheLetter = new Set<unknown>(['EENVELOPE', 'EMESSAGE'])

export const refusalOf = (error: unknown): Refusal => {
  const code = codeOf(error)
  const responseCode = replyCodeOf(error)
  const isAboutLetter = aboutTheLetter.has(code)
  return {
    // An address that the library itself cannot send to has no reply code.
    isFinal: isAboutLetter && (responseCode >= 500 || (code === 'EENVELOPE' && responseCode === 0)),
    isServerDown: !isAboutLetter,
    reason: messageOf(error),
  }
}
