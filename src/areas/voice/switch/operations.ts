import { createFollower } from '../../../events/follower.ts'
import { inOneLine } from '../../../jobs/queue.ts'
import type { Scheduler } from '../../../jobs/scheduler.ts'
import { present } from '../../../lib/json.ts'
import { type EdgeSettings, edgeSettings, edgesOf, reasonOf } from '../../../switch/kamailio/edges.ts'
import type { Accounts } from '../../accounts/accounts/operations.ts'
import type { AreaDeps } from '../../area.ts'
import type { Alerts } from '../../events/alerts/operations.ts'
import type { Outages, Watched } from '../../events/alerts/outages.ts'
import {
  edgeAlert,
  edgeCause,
  everyRealm,
  everyRecord,
  type FollowedChange,
  generationOf,
  isFollowed,
  isInherited,
  isOfAll,
  isRevoking,
  realmsIn,
  recordName,
} from './rules.ts'
import { createChangeStore } from './store.ts'
import { createEdgeNotifier, type EdgeNotifier } from './told-edge.ts'

interface Deps extends Pick<AreaDeps, 'store' | 'settings' | 'feed' | 'log' | 'outgoing' | 'metrics'> {
  scheduler: Pick<Scheduler, 'isHeld'>
  accounts: Pick<Accounts, 'find'>
  alerts: { outagesOf(watched: Watched): Outages }
}

// Interval in which edges are probed.
const probeMs = 5000
const maxChangesPerRead = 2000
// Changes before the first notification that another process may not have sent.
const maxMissed = 2000

interface NotifierState {
  edges: readonly EdgeNotifier[]
  /** The edges were notified up to here. */
  position: number
  /** Realms that devices of an account have or had instead of the account's realm. */
  ownRealms: Map<string, Set<string>>
  probedAt: number
}

const addTo = (realms: Map<string, Set<string>>, accountId: string, realm: string) => {
  const known = realms.get(accountId) ?? new Set()
  realms.set(accountId, known.add(realm))
}

/** Cached data of the edges that changes make stale. */
const staleAnswers = (accounts: Pick<Accounts, 'find'>) => {
  const isWide = async (change: FollowedChange) =>
    isInherited(change) && ((await accounts.find(change.accountId))?.tally ?? 0) > 0

  return {
    /** Records whose earlier answers are void, with their generation. */
    async revokedRecords(found: readonly FollowedChange[]) {
      const revoked = new Map<string, number>()
      for (const change of found) {
        if (!isFollowed(change) || !isRevoking(change)) continue
        const name = (await isWide(change)) ? everyRecord : recordName(change.recordId)
        revoked.set(name, generationOf(change.sequence))
      }
      return revoked
    },

    /** The realms that changes make stale. Each account is read once. */
    async staleRealms(found: readonly FollowedChange[], ownRealms: NotifierState['ownRealms']) {
      const stale = new Set<string>()
      const touched = new Set<string>()
      const withOwn = new Set<string>()
      for (const change of found.filter(isFollowed)) {
        const { accountId, kind, action } = change
        if (isOfAll(change) || (await isWide(change))) stale.add(everyRealm)
        for (const realm of realmsIn(change)) {
          stale.add(realm)
          if (kind === 'device') addTo(ownRealms, accountId, realm)
        }
        touched.add(accountId)
        if (kind !== 'device' || action === 'deleted') withOwn.add(accountId)
      }
      if (stale.has(everyRealm)) return [everyRealm]
      for (const id of withOwn) for (const realm of ownRealms.get(id) ?? []) stale.add(realm)
      for (const id of touched) {
        const realm = (await accounts.find(id))?.doc.realm
        if (realm !== undefined) stale.add(realm.toLowerCase())
      }
      return [...stale]
    },
  }
}

/**
 * Notifies the edges of stale answers, in one process at a time, in the order of the feed. The first
 * notification of each edge makes everything stale, because the previous process may have missed something.
 */
export const createEdgeFollower = (deps: Deps) => {
  const { store, settings, feed, log, outgoing, metrics } = deps
  const { clock } = store
  const changes = createChangeStore(store)
  const answers = staleAnswers(deps.accounts)
  const outages = deps.alerts.outagesOf({
    requestId: 'sip_edge',
    noun: 'a SIP edge',
    causeOf: edgeCause,
    alertOf: edgeAlert,
  })

  /** Stores an alert without making the edges wait for it. */
  const note = (work: Promise<void>) => {
    work.catch((error) => {
      log.write('warn', 'an alert of a SIP edge could not be stored', { reason: inOneLine(String(error)) })
    })
  }

  const begin = async (way: EdgeSettings): Promise<NotifierState> => {
    const edges = edgesOf({ outgoing, settings: way, isQuiet: true })
    // The process that saw the outage may have ended.
    for (const { host } of edges) await outages.withdraw(host)
    // Answers from now on include everything up to here.
    const position = await feed.newest()
    const ownRealms = new Map<string, Set<string>>()
    for (const [accountId, realm] of await changes.ownRealms()) addTo(ownRealms, accountId, realm)
    const notifiers = edges.map((edge) =>
      createEdgeNotifier(edge, {
        reached: ({ host }) => note(outages.reached(host)),
        failed: ({ host }, error) => note(outages.failed(host, reasonOf(error))),
      }),
    )
    const revoked = await answers.revokedRecords(
      await changes.behind(position - maxMissed, position, maxMissed),
    )
    for (const one of notifiers) one.stale([], generationOf(position), revoked)
    return { edges: notifiers, position, ownRealms, probedAt: clock.now() }
  }

  const notifyNext = async (state: NotifierState): Promise<boolean> => {
    const newest = await feed.newest()
    if (newest === state.position) return false
    const found = await changes.behind(state.position, newest, maxChangesPerRead)
    const isCut = found.length === maxChangesPerRead
    const position = isCut ? (found.at(-1)?.sequence ?? newest) : newest
    const realms = await answers.staleRealms(found, state.ownRealms)
    const revoked = await answers.revokedRecords(found)
    state.position = position
    if (realms.length > 0) for (const one of state.edges) one.stale(realms, generationOf(position), revoked)
    return isCut
  }

  const follower = createFollower(deps, {
    name: 'edge_generations',
    complaint: 'SIP edges could not be notified of changes',
    gatherMs: 100,
    wanted: () => edgeSettings(settings),
    begin,
    look(state) {
      const isDue = clock.now() - state.probedAt >= probeMs
      if (isDue) state.probedAt = clock.now()
      for (const one of state.edges) if (isDue || !one.isReached()) void one.look()
    },
    next: notifyNext,
    async end({ edges }) {
      await Promise.all(edges.map((one) => one.end()))
      for (const { edge } of edges) await outages.forget(edge.host)
    },
  })

  metrics.gauge(
    {
      name: 'crosspoint_sip_edges',
      help: 'SIP edges that this process sends changes to, by state.',
      labels: ['state'],
    },
    () => {
      const edges = follower.shift()?.edges ?? []
      const reached = edges.filter((one) => one.isReached()).length
      return [
        { labels: ['reached'], value: reached },
        { labels: ['unreachable'], value: edges.length - reached },
      ]
    },
  )

  return {
    job: follower.job,
    /** Whether an edge has all changes. Undefined: another process notifies the edges. */
    isCurrent: (host: string) =>
      follower
        .shift()
        ?.edges.find(({ edge }) => edge.host === host)
        ?.isCurrent(),
  }
}

type StateDeps = Pick<AreaDeps, 'mediaSwitch'> & {
  alerts: Pick<Alerts, 'raisedAt'>
  follower: Pick<ReturnType<typeof createEdgeFollower>, 'isCurrent'>
}

/** The state of all edges, for the operator. */
export const createEdgeStates =
  ({ mediaSwitch, alerts, follower }: StateDeps) =>
  async () => {
    const states = await mediaSwitch.states()
    return Promise.all(
      states.map(async (state) => ({
        ...state,
        ...present({
          current: follower.isCurrent(state.host),
          alerted: await alerts.raisedAt(edgeCause(state.host)),
        }),
      })),
    )
  }
