import { setTimeout as sleep } from 'node:timers/promises'
import type { Clock } from '../lib/clock.ts'
import { describeError, type Log } from '../lib/log.ts'
import { deliverBySmtp, deliverToFolder, type Letter } from './delivery.ts'

/** Sends letters without making anybody wait: what fails is tried again, what never works is logged. */
export interface Mail {
  send(letter: Letter): void
  /** One last try for each letter that still waits. Nothing may be sent afterwards. */
  drain(): Promise<void>
}

export interface MailTools {
  /** Undefined: letters become files in `outboxDir`. */
  smtpUrl: string | undefined
  outboxDir: string
  /** The address that letters come from, as it is set now. */
  sender(): Promise<string>
  clock: Clock
  log: Log
  /** Milliseconds before each further try. */
  pauses?: readonly number[]
}

const minute = 60_000
const usualPauses = [5000, 30_000, 2 * minute, 10 * minute, 30 * minute, 60 * minute, 180 * minute]

// More letters than this in waiting are not kept: a dead SMTP server must not fill the memory.
const mostWaiting = 10_000

// How long a stop may wait for the SMTP server.
const drainMs = 10_000

interface Waiting {
  letter: Letter
  tries: number
  timer: NodeJS.Timeout | undefined
}

export const createMail = (tools: MailTools): Mail => {
  const { smtpUrl, outboxDir, clock, log, pauses = usualPauses } = tools
  const delivery = smtpUrl ? deliverBySmtp(smtpUrl) : deliverToFolder(outboxDir, clock)
  const waiting = new Set<Waiting>()
  const running = new Map<Waiting, Promise<void>>()
  let draining = false

  // The text may hold a secret link: only the envelope is told.
  const giveUp = ({ letter: { to, subject }, tries }: Waiting, error: unknown) => {
    log.write('error', 'a mail could not be delivered', { to, subject, tries, error: describeError(error) })
  }

  const tryAgainLater = (entry: Waiting, error: unknown) => {
    const pause = pauses[entry.tries - 1]
    if (pause === undefined || draining) return giveUp(entry, error)
    const { to, subject } = entry.letter
    log.write('warn', 'a mail is tried again later', { to, subject, tries: entry.tries, pause_ms: pause })
    waiting.add(entry)
    entry.timer = setTimeout(() => start(entry), pause)
  }

  const attempt = async (entry: Waiting) => {
    entry.tries += 1
    try {
      await delivery.deliver(entry.letter, await tools.sender())
    } catch (error) {
      tryAgainLater(entry, error)
    }
  }

  const start = (entry: Waiting) => {
    clearTimeout(entry.timer)
    waiting.delete(entry)
    running.set(
      entry,
      attempt(entry).finally(() => running.delete(entry)),
    )
  }

  return {
    send(letter) {
      const entry: Waiting = { letter, tries: 0, timer: undefined }
      if (draining || waiting.size + running.size >= mostWaiting) {
        return giveUp(entry, new Error('too many mails wait already'))
      }
      start(entry)
    },
    async drain() {
      draining = true
      for (const entry of [...waiting]) start(entry)
      const late = new AbortController()
      const deadline = sleep(drainMs, undefined, { signal: late.signal }).catch(() => {})
      await Promise.race([Promise.all(running.values()), deadline])
      late.abort()
      for (const entry of running.keys()) giveUp(entry, new Error('the server stopped'))
      delivery.close()
    },
  }
}
