// Clients who ask again until they are granted what they wish for.
import { setTimeout as pause } from 'node:timers/promises'
import type { Answer } from '../client.ts'
import type { Session } from '../session.ts'

/** Longer than any failover takes: a client that is refused until then met a key that is stuck. */
const patienceMs = 120_000
const firstPauseMs = 25

export interface Granted {
  answer: Answer
  /** Number of earlier refusals. */
  failures: number
}

export const isGranted = ({ status }: Answer) => status === 200 || status === 201
/**
 * The client repeats a request after these answers: the store is away, or another try of the same is in
 * progress.
 */
const isPassing = ({ status }: Answer) => status >= 500 || status === 409

export type Insist = ReturnType<typeof createInsist>

/** Repeats a request at another server after each refusal. Pauses grow up to a length. */
export const createInsist =
  (sessions: readonly Session[]) =>
  async (
    ask: (session: Session) => Promise<Answer>,
    { first = 0, longestPauseMs = firstPauseMs }: { first?: number; longestPauseMs?: number } = {},
  ): Promise<Granted> => {
    const deadline = performance.now() + patienceMs
    for (let failures = 0; ; failures += 1) {
      const answer = await ask(sessions[(first + failures) % sessions.length] as Session)
      if (isGranted(answer)) return { answer, failures }
      if (!isPassing(answer) || performance.now() > deadline)
        throw new Error(`${answer.request.method} ${answer.request.path}: ${answer.status} ${answer.text}`)
      await pause(Math.min(longestPauseMs, firstPauseMs * 2 ** failures))
    }
  }

export const withKey = (key: string) => ({ headers: { 'idempotency-key': key } })
