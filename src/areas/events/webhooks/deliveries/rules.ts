const firstPauseMs = 3000
const longestPauseMs = 3_600_000
const growth = 3

/** A delivery that has failed for this time is dropped. */
export const maxDeliveryLifeMs = 3 * 24 * 3_600_000

export const pauseAfter = (attempts: number) =>
  Math.min(firstPauseMs * growth ** Math.min(attempts - 1, 20), longestPauseMs)

/** Undefined: no further attempt. */
export const nextTry = ({ attempts, since, now }: { attempts: number; since: number; now: number }) => {
  const dueAt = now + pauseAfter(attempts)
  return dueAt > since + maxDeliveryLifeMs ? undefined : dueAt
}

/** If each further attempt fails at once. */
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

/** Temporary failures. */
const mayPass = (status: number) => status === 408 || status === 429 || status >= 500

export type Verdict = 'success' | 'again' | 'failed'

/** Redirects are not followed. */
export const verdictOf = (status: number): Verdict => {
  if (isSuccess(status)) return 'success'
  return mayPass(status) ? 'again' : 'failed'
}
