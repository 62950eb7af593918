import { setTimeout as sleep } from 'node:timers/promises'
import type { Keyring } from '../auth/keyring.ts'
import type { Round } from '../jobs/rounds.ts'
import { messageOf } from '../lib/error-facts.ts'
import { newId } from '../lib/ids.ts'
import { describeError, type Log } from '../lib/log.ts'
import type { Settings } from '../settings/settings.ts'
import { systemScope } from '../storage/change-set.ts'
import { type AttemptRow, createLetterRows, type LetterRow } from '../storage/letters.ts'
import type { Store } from '../storage/store.ts'
import { type Carrier, mostAtOnce, type Refusal, refusalOf } from './carriers.ts'
import { signMessage } from './dkim.ts'
import { type Content, openContent } from './letter.ts'
import { composeMessage } from './message.ts'
import type { Sender, Senders, Signing } from './senders.ts'

interface Tools {
  store: Store
  keyring: Keyring
  settings: Settings
  senders: Senders
  carrier: Carrier
  log: Log
}

/** Takes what waits to the mail server. */
export interface Post {
  isAnyDue(): Promise<boolean>
  /** Resolves when nothing is due any more, or the mail server is not there, or `signal` is aborted. */
  deliverDue(signal: AbortSignal): Promise<void>
  /** Forgets attempts that are older than the settings say. */
  tidy(): Promise<void>
  close(): void
}

const minute = 60_000

// With the round that looks every five seconds: the first further try comes within 15 seconds.
const pausesMs = [10_000, minute, 5 * minute, 15 * minute, 30 * minute]
const longestPauseMs = 60 * minute

const batchSize = 100

// How long a stop waits for the letters that the mail server is just taking.
const farewellMs = 3000

const longestReply = 500

/** What a foreign server says may hold anything. */
const inOneLine = (reply: string) =>
  reply
    .replace(/\p{C}+/gu, ' ')
    .trim()
    .slice(0, longestReply)

/** What is sent, and what is noted about it. */
interface Parcel {
  message: Buffer
  sender: Sender
  subject: string
  signedBy: string
}

/**
 * Delivers at least once, not exactly once: no mail protocol tells a sender that died, or heard no answer, after the last
 * byte whether the letter was taken on. A letter is removed only after the mail server said that it has it; so in those
 * cases it is sent again, under the same Message-ID and date. One process at a time delivers, which holds the lease of the
 * round; one that was taken for dead while it was sending is the last case in which a letter comes twice.
 */
export const createPost = ({ store, keyring, settings, senders, carrier, log }: Tools): Post => {
  const rows = createLetterRows(store)
  const { clock } = store

  /** The address that the template asks for if it is proved, else the account's, else the system's. */
  const senderFor = async ({ accountId }: LetterRow, { from }: Content): Promise<Sender> => {
    if (from?.accountId === systemScope) return { address: from.address }
    const own = await senders.senderOf(accountId)
    if (from && (await senders.maySendAs(from.accountId, from.address)))
      return { ...own, address: from.address }
    return own ?? { address: (await settings.of('crossbar')).mail_from }
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

  const pack = async (letter: LetterRow): Promise<Parcel> => {
    const content = openContent(keyring, letter.id, letter.sealed)
    const sender = await senderFor(letter, content)
    const { recipient: to, messageId, created: date } = letter
    const message = await composeMessage(content, { from: sender, to, messageId, date })
    const signing = await senders.signingFor(letter.accountId, sender.address)
    return { ...signed(message, signing), sender, subject: content.subject }
  }

  const attemptOf = (
    letter: LetterRow,
    parcel: Parcel | undefined,
    { outcome, reply }: Pick<AttemptRow, 'outcome' | 'reply'>,
  ): AttemptRow => ({
    accountId: letter.accountId,
    id: newId(clock.now()),
    at: clock.now(),
    letterId: letter.id,
    messageId: letter.messageId,
    notice: letter.notice,
    recipient: letter.recipient,
    sender: parcel?.sender.address ?? '',
    subject: parcel?.subject ?? '',
    number: letter.tries + 1,
    signedBy: parcel?.signedBy ?? '',
    outcome,
    reply: inOneLine(reply),
  })

  /** What the log says of a letter: never its text, which may hold a secret. */
  const facts = ({ notice, recipient, tries }: LetterRow) => ({ notice, to: recipient, tries: tries + 1 })

  const giveUp = async (letter: LetterRow, parcel: Parcel | undefined, reply: string) => {
    log.write('error', 'a mail could not be delivered', { ...facts(letter), reason: reply })
    await rows.settle(attemptOf(letter, parcel, { outcome: 'given_up', reply }))
  }

  const refused = async (
    letter: LetterRow,
    parcel: Parcel | undefined,
    { isFinal, reason }: Pick<Refusal, 'isFinal' | 'reason'>,
  ) => {
    const pause = pausesMs[letter.tries] ?? longestPauseMs
    const next = clock.now() + pause
    if (isFinal || next > letter.goodUntil) return giveUp(letter, parcel, reason)
    log.write('warn', 'a mail is tried again later', { ...facts(letter), pause_ms: pause, reason })
    await rows.defer(attemptOf(letter, parcel, { outcome: 'deferred', reply: reason }), next)
  }

  /** What is to be sent. A letter for which this fails waits, and does not keep others from being sent. */
  const packed = async (letter: LetterRow) => {
    try {
      return await pack(letter)
    } catch (error) {
      const reason = `it could not be written: ${messageOf(error)}`
      await refused(letter, undefined, { isFinal: false, reason })
      return undefined
    }
  }

  /** What the mail server said, or why it did not take the letter. */
  const carry = async (letter: LetterRow, { message, sender }: Parcel): Promise<string | Refusal> => {
    try {
      return await carrier.carry(message, sender.address, letter)
    } catch (error) {
      return refusalOf(error)
    }
  }

  /** False when the mail server is not there. `isOver` tells that nobody waits for the result any more. */
  const deliver = async (letter: LetterRow, isOver: () => boolean): Promise<boolean> => {
    if (letter.goodUntil < clock.now()) {
      await giveUp(letter, undefined, 'nobody has a use for it any more')
      return true
    }
    const parcel = await packed(letter)
    if (!parcel) return true
    const reply = await carry(letter, parcel)
    if (isOver()) return false
    if (typeof reply !== 'string') {
      await refused(letter, parcel, reply)
      return !reply.isServerDown
    }
    await rows.settle(attemptOf(letter, parcel, { outcome: 'delivered', reply }))
    return true
  }

  /**
   * A few letters at a time; none is begun after one has met no mail server, or the store has failed. Those under way
   * are seen to their end.
   */
  const deliverAll = async (letters: readonly LetterRow[], signal: AbortSignal, farewell: Promise<void>) => {
    const queue = letters.values()
    const failures: unknown[] = []
    let isUp = true
    let isOver = false
    const work = async () => {
      for (const letter of queue) {
        if (!isUp || signal.aborted) return
        try {
          if (!(await deliver(letter, () => isOver))) isUp = false
        } catch (error) {
          isUp = false
          failures.push(error)
        }
      }
    }
    await Promise.race([Promise.all(Array.from({ length: mostAtOnce }, work)), farewell])
    isOver = true
    if (failures.length > 0) throw failures[0]
    return isUp
  }

  return {
    isAnyDue: () => rows.isAnyDue(clock.now()),

    async deliverDue(signal) {
      const farewell = afterAbort(signal, farewellMs)
      for (;;) {
        const letters = await rows.due(clock.now(), batchSize)
        if (letters.length === 0 || signal.aborted) return
        if (!(await deliverAll(letters, signal, farewell))) return
      }
    },

    async tidy() {
      const { mail_log_days: days } = await settings.of('crossbar')
      await rows.forgetAttemptsBefore(clock.now() - days * 24 * 60 * minute)
    },

    close: () => carrier.close(),
  }
}

/** What the server has to do by itself so that mail is sent. */
export const postRounds = ({ isAnyDue, deliverDue, tidy }: Post): Round[] => [
  { name: 'mail', everySeconds: 5, due: isAnyDue, run: deliverDue },
  { name: 'mail log', everySeconds: 3600, run: tidy },
]

/** Resolves a while after `signal` was aborted. */
const afterAbort = (signal: AbortSignal, milliseconds: number) =>
  new Promise<void>((resolve) => {
    const begin = () => void sleep(milliseconds, undefined, { ref: false }).then(() => resolve())
    if (signal.aborted) begin()
    else signal.addEventListener('abort', begin, { once: true })
  })
