import type { Keyring } from '../auth/keyring.ts'
import { type Conclusion, inOneLine, type JobKind, type Queue } from '../jobs/queue.ts'
import { deleteOldRows } from '../jobs/retention/old-rows.ts'
import type { ScheduledJob } from '../jobs/rounds.ts'
import { messageOf } from '../lib/error-facts.ts'
import { describeError, type Log } from '../lib/log.ts'
import type { Metrics } from '../lib/metrics.ts'
import { crossbarSettings } from '../settings/documents.ts'
import type { Settings } from '../settings/settings.ts'
import { systemScope } from '../storage/change-set.ts'
import type { Store } from '../storage/store.ts'
import { type MailTransport, maxConcurrentMails, type Refusal, refusalOf } from './couriers.ts'
import { signMessage } from './dkim.ts'
import {
  type Content,
  type DocumentOf,
  mailKind,
  openContent,
  type QueuedMail,
  type QueuedMailJob,
} from './letter.ts'
import { composeMessage } from './message.ts'
import type { Sender, Senders, Signing } from './senders.ts'
import { createAttemptRows, type Outcome } from './store.ts'

interface Deps {
  store: Store
  keyring: Keyring
  settings: Settings
  senders: Senders
  courier: MailTransport
  documentOf: DocumentOf
  log: Log
  metrics: Metrics
}

/** What came of asking the mail server, and for which mail. */
interface Answer {
  parcel?: Parcel
  /** What the mail server said, or why it did not take the letter. */
  reply: string | Refusal
}

const minute = 60_000

// With the round that looks every five seconds: the first further try comes within 15 seconds.
const usualPausesMs = [10_000, minute, 5 * minute, 15 * minute, 30 * minute]
const longestPauseMs = 60 * minute

// How long a stop waits for the letters that the mail server is just taking.
const farewellMs = 3000

const nobodyCares: Refusal = {
  isFinal: true,
  isServerDown: false,
  reason: 'nobody has a use for it any more',
}

/** What is sent, and what is noted about it. */
interface Parcel {
  message: Buffer
  sender: Sender
  subject: string
  signedBy: string
}

/**
 * Delivers at least once, not exactly once: no mail protocol tells a sender that died, or heard no answer, after the last
 * byte whether the letter was taken on. A letter is settled only after the mail server said that it has it; so in those
 * cases it is sent again, under the same Message-ID and date. One process at a time delivers, which holds the lease of the
 * round; one that was taken for dead while it was sending is the last case in which a letter comes twice.
 */
export const createPost = (tools: Deps) => {
  const { store, keyring, settings, senders, courier, documentOf, log, metrics } = tools
  const tries = metrics.counter({
    name: 'crosspoint_mail_attempts_total',
    help: 'Attempts to hand a letter to the mail server, by what came of them.',
    labels: ['outcome'],
  })
  const attempts = createAttemptRows(store)
  const { clock } = store

  /** The address that the template asks for if it is proved, else the account's, else the system's. */
  const senderFor = async ({ accountId }: QueuedMailJob, { from }: Content): Promise<Sender> => {
    if (from?.accountId === systemScope) return { address: from.address }
    const own = await senders.senderOf(accountId)
    if (from && (await senders.maySendAs(from.accountId, from.address)))
      return { ...own, address: from.address }
    return own ?? { address: (await settings.of(crossbarSettings)).mail_from }
  }

  /** A key that cannot be used must not keep the letter: it goes without a signature, and is told. */
  const signed = (message: Buffer, signing: Signing | undefined) => {
    if (!signing) return { message, signedBy: '' }
    const signedBy = `${signing.selector}._domainkey.${signing.domain}`
    try {
      return { message: signMessage(message, signing), signedBy }
    } catch (error) {
      log.write('warn', 'a mail could not be signed', { key: signedBy, error: describeError(error) })
      return { message, signedBy: '' }
    }
  }

  const pack = async (letter: QueuedMailJob): Promise<Parcel> => {
    const content = openContent(keyring, letter.id, letter.payload.sealed)
    const { senderName } = content
    const sender = { ...(await senderFor(letter, content)), ...(senderName ? { name: senderName } : {}) }
    const { recipient: to, messageId, created: date } = letter.payload
    const message = await composeMessage(content, { from: sender, to, messageId, date }, documentOf)
    const signing = await senders.signingFor(letter.accountId, sender.address)
    return { ...signed(message, signing), sender, subject: content.subject }
  }

  const loggedBy = ({ accountId, payload }: Pick<QueuedMailJob, 'accountId' | 'payload'>) =>
    payload.loggedBy ?? accountId

  /** What is noted, and what the log says: never its text, which may hold a secret. */
  const attempt = (
    { id, accountId, attempts: before, payload }: QueuedMailJob,
    parcel: Parcel | undefined,
    { outcome, reply }: { outcome: Outcome; reply: string },
  ) => {
    tries.labels(outcome).inc()
    return attempts.add({
      accountId: loggedBy({ accountId, payload }),
      at: clock.now(),
      letterId: id,
      messageId: payload.messageId,
      notice: payload.notice,
      recipient: payload.recipient,
      sender: parcel?.sender.address ?? '',
      subject: parcel?.subject ?? '',
      number: before + 1,
      signedBy: parcel?.signedBy ?? '',
      outcome,
      reply: inOneLine(reply),
    })
  }

  const refused = (
    letter: QueuedMailJob,
    parcel: Parcel | undefined,
    { isFinal, isServerDown, reason }: Refusal,
  ): Conclusion<QueuedMail> => {
    const { notice, recipient, goodUntil } = letter.payload
    const facts = { notice, to: recipient, tries: letter.attempts + 1, reason }
    const pause_ms = usualPausesMs[letter.attempts] ?? longestPauseMs
    const dueAt = clock.now() + pause_ms
    const noted = (outcome: Outcome) => [attempt(letter, parcel, { outcome, reply: reason })]
    if (isFinal || dueAt > goodUntil) {
      log.write('error', 'a mail could not be delivered', facts)
      return { state: 'failed', outcome: reason, statements: noted('given_up') }
    }
    log.write('warn', 'a mail is tried again later', { ...facts, pause_ms })
    const isOutsideDown = isServerDown
    return { state: 'waiting', dueAt, isOutsideDown, outcome: reason, statements: noted('deferred') }
  }

  const carry = async (letter: QueuedMailJob, { message, sender }: Parcel): Promise<Answer['reply']> => {
    try {
      return await courier.carry(message, sender.address, letter)
    } catch (error) {
      return refusalOf(error)
    }
  }

  const ask = async (letter: QueuedMailJob): Promise<Answer> => {
    if (letter.payload.goodUntil < clock.now()) return { reply: nobodyCares }
    // What is sent and cannot be noted would be sent again, and again.
    await attempts.reach(loggedBy(letter))
    let parcel: Parcel
    try {
      parcel = await pack(letter)
    } catch (error) {
      const reason = `it could not be written: ${messageOf(error)}`
      return { reply: { isFinal: false, isServerDown: false, reason } }
    }
    return { parcel, reply: await carry(letter, parcel) }
  }

  const letters: JobKind<QueuedMail, Answer> = {
    kind: mailKind,
    atOnce: maxConcurrentMails,
    farewellMs,
    ask,
    conclude(letter, { parcel, reply }) {
      if (typeof reply !== 'string') return refused(letter, parcel, reply)
      const noted = attempt(letter, parcel, { outcome: 'delivered', reply })
      return { state: 'done', outcome: reply, statements: [noted] }
    },
  }

  return {
    letters,

    /** Deletes attempts that are older than the settings say. */
    tidying: deleteOldRows(store, {
      name: 'mail log',
      table: 'mail_attempts',
      key: ['account_id', 'id'],
      where: 'at < $1',
      before: async () =>
        clock.now() - (await settings.of(crossbarSettings)).mail_log_days * 24 * 60 * minute,
    }),

    close: () => courier.close(),
  }
}

/** Takes what waits to the mail server. */
type Post = ReturnType<typeof createPost>

/** What the server has to do by itself so that mail is sent. */
export const mailSchedule = ({ letters, tidying }: Post, queue: Queue): ScheduledJob[] => [
  queue.round(letters),
  tidying,
]
