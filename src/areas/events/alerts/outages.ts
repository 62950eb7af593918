import { masterClaim } from '../../../auth/identity.ts'
import { inOneLine } from '../../../jobs/queue.ts'
import { ChangeSet } from '../../../storage/change-set.ts'
import { retrying } from '../../../storage/store.ts'
import type { DepsOf } from '../../area.ts'
import type { Alerts } from './operations.ts'
import type { Alert } from './schema.ts'

interface Deps extends DepsOf<'store' | 'log'> {
  alerts: Pick<Alerts, 'raise' | 'withdraw'>
}

/** A system outside that may be unreachable, and the words for it. */
export interface Watched {
  /** In audit entries. */
  requestId: string
  /** In the log: `the message bus`. */
  noun: string
  /** One cause for each host, or one for all. */
  causeOf(host: string): string
  alertOf(host: string, reason: string, masterId: string): Alert
}

// A restart of the other system is not reported.
const alertAfterMs = 60_000

export type Outages = ReturnType<typeof createOutages>

/** Logs once for each outage of a host, and raises an alert if it lasts. */
export const createOutages = ({ store, log, alerts }: Deps, watched: Watched) => {
  const { requestId, noun, causeOf, alertOf } = watched
  const { clock } = store
  const outages = new Map<string, { since: number; isRaised: boolean }>()

  const commit = (add: (set: ChangeSet) => Promise<void>) =>
    retrying(async () => {
      const set = new ChangeSet({ requestId })
      await add(set)
      if (set.changes.length > 0) await store.commit(set)
    })

  /** Another process may have raised the alert. */
  const withdraw = (host: string) => commit((set) => alerts.withdraw(set, causeOf(host)))

  return {
    withdraw,

    async failed(host: string, reason: string) {
      const cause = causeOf(host)
      const now = clock.now()
      const known = outages.get(cause)
      if (!known) log.write('warn', `${noun} cannot be reached`, { host, reason: inOneLine(reason) })
      const outage = known ?? { since: now, isRaised: false }
      outages.set(cause, outage)
      if (outage.isRaised || now - outage.since < alertAfterMs) return
      const master = await store.records.claimant(masterClaim)
      if (!master || outage.isRaised) return
      // Set before the commit, so that a failure at the same time raises no second alert.
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
      log.write('info', `${noun} can be reached again`, { host })
      await withdraw(host)
    },

    /** The host is no longer used. */
    async forget(host: string) {
      if (outages.delete(causeOf(host))) await withdraw(host)
    },
  }
}
