import type { Keyring } from '../auth/keyring.ts'
import { type Conclusion, inOneLine, type JobKind, type Queue } from '../jobs/queue.ts'
import type { ScheduledJob } from '../jobs/scheduler.ts'
import { deleteOldRows } from '../jobs/scheduler.ts'
import { messageOf } from '../lib/error-facts.ts'
import { dayMs } from '../lib/gregorian.ts'
import { describeError, type Log } from '../lib/log.ts'
import type { Metrics } from '../lib/metrics.ts'
import { crossbarSettings } from '../settings/documents.ts'
import type { Settings } from '../settings/settings.ts'
import { systemScope } from '../storage/change-set.ts'
import type { Store } from '../storage/store.ts'
import { signMessage } from './dkim.ts'
import {
  type Content,
  composeMessage,
  type DocumentOf,
  mailKind,
  openContent,
  type QueuedMail,
  type QueuedMailJob,
} from './message.ts'
import type { Sender, Senders, Signing } from './senders.ts'
import { type AttemptOutcome, createMailAttempts } from './store.ts'
import { type MailRefusal, type MailTransport, mailRefusalOf, maxConcurrentMails } from './transports.ts'

interface Deps {
  store: Store
  keyring: Keyring
  settings: Settings
  senders: Senders
  transport: MailTransport
  documentOf: DocumentOf
  log: Log
  metrics: Metrics
}

interface SignedMail {
  message: Buffer
  sender: Sender
  subject: string
  signedBy: string
}

/** Reply of the mail server, or why it did not take the mail. */
interface DeliveryReply {
  mail?: SignedMail
  reply: string | MailRefusal
}

const minute = 60_000

// The queue polls every 5 seconds, so the first retry comes within 15 seconds.
const retryPausesMs = [10_000, minute, 5 * minute, 15 * minute, 30 * minute]
const maxPauseMs = 60 * minute

// How long a shutdown waits for mails that are being sent.
const farewellMs = 3000

const expired: MailRefusal = {
  isFinal: true,
  isServerDown: false,
  reason: 'it has expired',
}

const loggedBy = ({ accountId, payload }: QueuedMailJob) => payload.loggedBy ?? accountId

/** Writes and signs mails. */
const createComposer = ({ keyring, settings, senders, documentOf, log }: Deps) => {
  /** The address of the template if it is verified, else the account's, else the system's. */
  const senderFor = async ({ accountId }: QueuedMailJob, { from }: Content): Promise<Sender> => {
    if (from?.accountId === systemScope) return { address: from.address }
    const own = await senders.senderOf(accountId)
    if (from && (await senders.maySendAs(from.accountId, from.address)))
      return { ...own, address: from.address }
    return own ?? { address: (await settings.of(crossbarSettings)).mail_from }
  }

  /** If the key is unusable, the email is sent unsigned. */
  const signed = (message: Buffer, signing: Signing | undefined) => {
    if (!signing) return { message, signedBy: '' }
    const signedBy = `${signing.selector}._domainkey.${signing.domain}`
    try {
      return { message: signMessage(message, signing), signedBy }
    } catch (error) {
      log.write('warn', 'an email could not be signed', { key: signedBy, error: describeError(error) })
      return { message, signedBy: '' }
    }
  }

  return async (job: QueuedMailJob): Promise<SignedMail> => {
    const content = openContent(keyring, job.id, job.payload.sealed)
    const { senderName } = content
    const sender = { ...(await senderFor(job, content)), ...(senderName ? { name: senderName } : {}) }
    const { recipient: to, messageId, created: date } = job.payload
    const message = await composeMessage(content, { from: sender, to, messageId, date }, documentOf)
    const signing = await senders.signingFor(job.accountId, sender.address)
    return { ...signed(message, signing), sender, subject: content.subject }
  }
}

/**
 * Delivers at least once: SMTP does not tell a sender that died after the last byte whether the mail was accepted. A mail is
 * settled only after the server accepted it, and a repeat has the same Message-ID and date. Only the process that holds the
 * lease delivers.
 */
export const createMailDelivery = (deps: Deps) => {
  const { store, settings, transport, log, metrics } = deps
  const tries = metrics.counter({
    name: 'crosspoint_mail_attempts_total',
    help: 'Attempts to deliver an email, by result.',
    labels: ['outcome'],
  })
  const attempts = createMailAttempts(store)
  const compose = createComposer(deps)
  const { clock } = store

  /** The log entry of an attempt. It never contains the text of the mail, which may hold a secret. */
  const attempt = (
    job: QueuedMailJob,
    mail: SignedMail | undefined,
    outcome: AttemptOutcome,
    reply: string,
  ) => {
    tries.labels(outcome).inc()
    const { messageId, notice, recipient } = job.payload
    return attempts.add({
      accountId: loggedBy(job),
      at: clock.now(),
      letterId: job.id,
      messageId,
      notice,
      recipient,
      sender: mail?.sender.address ?? '',
      subject: mail?.subject ?? '',
      number: job.attempts + 1,
      signedBy: mail?.signedBy ?? '',
      outcome,
      reply: inOneLine(reply),
    })
  }

  const conclude = (job: QueuedMailJob, { mail, reply }: DeliveryReply): Conclusion<QueuedMail> => {
    if (typeof reply === 'string')
      return { state: 'done', outcome: reply, statements: [attempt(job, mail, 'delivered', reply)] }
    const { isFinal, isServerDown: isOutsideDown, reason } = reply
    const { notice, recipient, goodUntil } = job.payload
    const facts = { notice, to: recipient, tries: job.attempts + 1, reason }
    const pause_ms = retryPausesMs[job.attempts] ?? maxPauseMs
    const dueAt = clock.now() + pause_ms
    if (isFinal || dueAt > goodUntil) {
      log.write('error', 'an email could not be delivered', facts)
      return { state: 'failed', outcome: reason, statements: [attempt(job, mail, 'given_up', reason)] }
    }
    log.write('warn', 'an email will be sent again later', { ...facts, pause_ms })
    const statements = [attempt(job, mail, 'deferred', reason)]
    return { state: 'waiting', dueAt, isOutsideDown, outcome: reason, statements }
  }

  const ask = async (job: QueuedMailJob): Promise<DeliveryReply> => {
    if (job.payload.goodUntil < clock.now()) return { reply: expired }
    // A mail whose attempt cannot be logged would be sent again and again.
    await attempts.reach(loggedBy(job))
    let mail: SignedMail
    try {
      mail = await compose(job)
    } catch (error) {
      const reason = `it could not be written: ${messageOf(error)}`
      return { reply: { isFinal: false, isServerDown: false, reason } }
    }
    const sending = transport.send(mail.message, mail.sender.address, job)
    return { mail, reply: await sending.catch(mailRefusalOf) }
  }

  const mails: JobKind<QueuedMail, DeliveryReply> = {
    kind: mailKind,
    maxConcurrent: maxConcurrentMails,
    stopTimeoutMs: farewellMs,
    ask,
    conclude,
  }

  return {
    mails,
    tidying: deleteOldRows(store, {
      name: 'mail log',
      table: 'mail_attempts',
      key: ['account_id', 'id'],
      where: 'at < $1',
      before: async () => clock.now() - (await settings.of(crossbarSettings)).mail_log_days * dayMs,
    }),
    close: () => transport.close(),
  }
}

export const mailSchedule = (
  { mails, tidying }: ReturnType<typeof createMailDelivery>,
  queue: Queue,
): ScheduledJob[] => [queue.scheduled(mails), tidying]
