import { masterClaim } from '../../../auth/identity.ts'
import { inOneLine } from '../../../jobs/queue.ts'
import type { Log } from '../../../lib/log.ts'
import { ChangeSet } from '../../../storage/change-set.ts'
import { retrying, type Store } from '../../../storage/store.ts'
import type { Alerts } from './operations.ts'
import type { Alert } from './schema.ts'

interface Deps {
  store: Store
  log: Log
  alerts: Pick<Alerts, 'raise' | 'withdraw'>
}

/** What can be away, and the words for it. */
export interface Watched {
  /** Of the change sets. */
  requestId: string
  /** `the message bus`: of the log. */
  noun: string
  /** Of the alert: one for each host, or one for all. */
  causeOf(host: string): string
  alertOf(host: string, reason: string, masterId: string): Alert
}

interface Outage {
  since: number
  isRaised: boolean
}

// One that is restarted is no news.
const patienceMs = 60_000

export type Outages = ReturnType<typeof createOutages>

/** Hosts of others that cannot be reached: the log is told once for each time, and operators when it lasts. */
export const createOutages = ({ store, log, alerts }: Deps, watched: Watched) => {
  const { requestId, noun, causeOf, alertOf } = watched
  const { clock } = store
  const outages = new Map<string, Outage>()

  const commit = (add: (set: ChangeSet) => Promise<void>) =>
    retrying(async () => {
      const set = new ChangeSet({ requestId })
      await add(set)
      if (set.changes.length > 0) await store.commit(set)
    })

  /** Whoever met an outage may be gone: withdraws the alert also where this process has not raised it. */
  const withdraw = (host: string) => commit((set) => alerts.withdraw(set, causeOf(host)))

  return {
    withdraw,

    async failed(host: string, reason: string) {
      const cause = causeOf(host)
      const now = clock.now()
      if (!outages.has(cause))
        log.write('warn', `${noun} cannot be reached`, { host, reason: inOneLine(reason) })
      const outage = outages.get(cause) ?? { since: now, isRaised: false }
      outages.set(cause, outage)
      if (outage.isRaised || now - outage.since < patienceMs) return
      const master = await store.records.claimant(masterClaim)
      if (!master || outage.isRaised) return
      // Said before it is written: whoever fails meanwhile raises no second one.
      outage.isRaised = true
      try {
        await commit((set) => alerts.raise(set, cause, alertOf(host, inOneLine(reason), master.accountId)))
      } catch (error) {
        outage.isRaised = false
        throw error
      }
    },

    async reached(host: string) {
      if (!outages.delete(causeOf(host))) return
      log.write('info', `${noun} is reached again`, { host })
      await withdraw(host)
    },

    /** It is not asked for any more. */
    async forget(host: string) {
      if (outages.delete(causeOf(host))) await withdraw(host)
    },
  }
}
