// Creates that arrive by the clock, whether or not those before were granted; each is insisted on.
import { eventually } from '../../run/eventually.ts'
import { type Granted, type Insist, withKey } from './insist.ts'

/** Fewer than a server's connections for one address. */
const maxUnderWay = 800
const tickMs = 5
const longestPauseMs = 800

interface Created extends Omit<Granted, 'answer'> {
  name: string
  accountPath: string
  /** The data of the answer, only for requests that were refused before. */
  data: unknown
}

export type Pace = ReturnType<typeof createPace>

export const createPace = (insist: Insist, accountPaths: readonly string[], perSecond: number) => {
  const granted: Created[] = []
  const underWay = new Set<Promise<void>>()
  const broken = Promise.withResolvers<never>()
  broken.promise.catch(() => undefined)
  let arrived = 0
  let heldBack = 0

  const put = (accountPath: string, name: string, first: number) =>
    insist(({ admin }) => admin.put(`${accountPath}/devices`, { name }, withKey(name)), {
      first,
      longestPauseMs,
    })

  const create = async (number: number) => {
    const accountPath = accountPaths[number % accountPaths.length] as string
    const name = `paced-${number}`
    const { answer, failures } = await put(accountPath, name, number)
    granted.push({ name, accountPath, failures, data: failures > 0 ? answer.data : undefined })
  }

  const arrive = () => {
    if (underWay.size >= maxUnderWay) {
      heldBack += 1
      return
    }
    const one: Promise<void> = create(arrived++)
      .catch(broken.reject)
      .finally(() => underWay.delete(one))
    underWay.add(one)
  }

  return {
    perSecond,
    granted,
    /** The number of arrivals that were never sent because too many requests were in progress. */
    heldBack: () => heldBack,

    /** They arrive from now on. */
    begin() {
      const began = performance.now()
      let due = 0
      const timer = setInterval(() => {
        for (; due < ((performance.now() - began) / 1000) * perSecond; due += 1) arrive()
      }, tickMs)
      return {
        async end() {
          clearInterval(timer)
          await Promise.race([Promise.all(underWay), broken.promise])
        },
      }
    },

    /** The granted requests per second, measured over the expected number of this time. */
    async rateOver(seconds: number) {
      const [began, before] = [performance.now(), granted.length]
      const reached = eventually(
        () => granted.length - before,
        (count) => count >= perSecond * seconds,
      )
      const count = await Promise.race([reached, broken.promise])
      return count / ((performance.now() - began) / 1000)
    },

    /** Resolves when all that wait now are granted. */
    async caughtUp() {
      await Promise.race([Promise.all(underWay), broken.promise])
    },

    /** Repeats the requests that were refused at first, and returns the new answers with the earlier ones. */
    async askAgain() {
      const insisted = granted.filter(({ failures }) => failures > 0)
      const answers: { before: unknown; now: unknown }[] = []
      const queue = insisted.values()
      const askRest = async () => {
        for (const { accountPath, name, data } of queue) {
          const { answer } = await put(accountPath, name, 0)
          answers.push({ before: data, now: answer.data })
        }
      }
      await Promise.all(Array.from({ length: 8 }, askRest))
      return answers
    },
  }
}
