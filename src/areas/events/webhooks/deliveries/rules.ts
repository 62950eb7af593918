// How often, and for how long, somebody who does not listen is told again.

const firstPauseMs = 3000
const longestPauseMs = 3_600_000
const growth = 3

/** An event that nobody has taken for so long is told no more. */
export const maxDeliveryLifeMs = 3 * 24 * 3_600_000

/** Milliseconds before the next try, when so many have been made. */
export const pauseAfter = (attempts: number) =>
  Math.min(firstPauseMs * growth ** Math.min(attempts - 1, 20), longestPauseMs)

/** When it is tried next; undefined when its time is over. */
export const nextTry = ({ attempts, since, now }: { attempts: number; since: number; now: number }) => {
  const dueAt = now + pauseAfter(attempts)
  return dueAt > since + maxDeliveryLifeMs ? undefined : dueAt
}

/** How many more tries there are, if each of them fails at once. */
export const triesLeft = ({ attempts, since, now }: { attempts: number; since: number; now: number }) => {
  let left = 0
  for (
    let dueAt = nextTry({ attempts, since, now });
    dueAt !== undefined;
    dueAt = nextTry({ attempts: attempts + left, since, now: dueAt })
  )
    left += 1
  return left
}

const isSuccess = (status: number) => status >= 200 && status < 300

/** Whoever answers so may take it later. */
const mayPass = (status: number) => status === 408 || status === 429 || status >= 500

export type Verdict = 'success' | 'again' | 'failed'

/** What follows from the status of an answer. Redirects are followed by nobody. */
export const verdictOf = (status: number): Verdict => {
  if (isSuccess(status)) return 'success'
  return mayPass(status) ? 'again' : 'failed'
}
