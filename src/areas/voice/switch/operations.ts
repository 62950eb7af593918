import { createFollower } from '../../../events/follower.ts'
import { inOneLine } from '../../../jobs/queue.ts'
import type { Scheduler } from '../../../jobs/scheduler.ts'
import { type Edge, type EdgeSettings, edgesOf, reasonOf } from '../../../switch/kamailio/edges.ts'
import { kamailioIn, switchSettings } from '../../../switch/settings.ts'
import type { Accounts } from '../../accounts/accounts/operations.ts'
import type { AreaDeps } from '../../area.ts'
import type { Outages, Watched } from '../../events/alerts/outages.ts'
import {
  edgeAlert,
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
  rounds: Pick<Scheduler, 'isHeld'>
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
  /** Realms that devices of an account have or had instead of its own. */
  ownRealms: Map<string, Set<string>>
  probedAt: number
}

const addTo = (realms: Map<string, Set<string>>, accountId: string, realm: string) => {
  const known = realms.get(accountId) ?? new Set()
  realms.set(accountId, known.add(realm))
}

/**
 * Notifies the edges of stale answers, in one process at a time, in the order of the feed. The first
 * notification of each edge makes everything stale, because the previous process may have missed something.
 */
export const createEdgeFollower = (tools: Deps) => {
  const { store, settings, feed, log, outgoing, metrics, accounts } = tools
  const { clock } = store
  const changes = createChangeStore(store)
  const outages = tools.alerts.outagesOf({
    requestId: 'sip_edge',
    noun: 'a SIP edge',
    causeOf: (host) => `sip_edge/${host}`,
    alertOf: edgeAlert,
  })

  /** Alerts wait for the store, edges for nobody. */
  const note = (work: Promise<void>) => {
    work.catch((error) => {
      log.write('warn', 'an alert of a SIP edge could not be kept', { reason: inOneLine(String(error)) })
    })
  }

  const heard = {
    reached: ({ host }: Edge) => note(outages.reached(host)),
    failed: ({ host }: Edge, error: unknown) => note(outages.failed(host, reasonOf(error))),
  }

  /** Records whose earlier answers are void, with their generation. */
  const revokedIn = async (found: readonly FollowedChange[]) => {
    const revoked = new Map<string, number>()
    for (const change of found) {
      if (!isFollowed(change) || !isRevoking(change)) continue
      const isWide = isInherited(change) && (await hasBelow(change.accountId))
      revoked.set(isWide ? everyRecord : recordName(change.recordId), generationOf(change.sequence))
    }
    return revoked
  }

  const begin = async (way: EdgeSettings): Promise<NotifierState> => {
    const edges = edgesOf({ outgoing, settings: way, isQuiet: true })
    // The process that met an outage may be gone.
    for (const { host } of edges) await outages.withdraw(host)
    // Answers from now on include everything up to here.
    const position = await feed.newest()
    const ownRealms = new Map<string, Set<string>>()
    for (const [accountId, realm] of await changes.ownRealms()) addTo(ownRealms, accountId, realm)
    const told = edges.map((edge) => createEdgeNotifier(edge, heard))
    const revoked = await revokedIn(await changes.behind(position - maxMissed, position, maxMissed))
    for (const one of told) one.stale([], generationOf(position), revoked)
    return { edges: told, position, ownRealms, probedAt: clock.now() }
  }

  const realmOf = async (accountId: string) => (await accounts.find(accountId))?.doc.realm.toLowerCase()

  const hasBelow = async (accountId: string) => ((await accounts.find(accountId))?.tally ?? 0) > 0

  /** The realms that changes make stale. Each account is read once. */
  const staleBy = async (found: readonly FollowedChange[], ownRealms: NotifierState['ownRealms']) => {
    const stale = new Set<string>()
    const touched = new Set<string>()
    const withOwn = new Set<string>()
    for (const change of found.filter(isFollowed)) {
      const { accountId, kind, action } = change
      if (isOfAll(change)) stale.add(everyRealm)
      else if (isInherited(change) && (await hasBelow(accountId))) stale.add(everyRealm)
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
      const realm = await realmOf(id)
      if (realm !== undefined) stale.add(realm)
    }
    return [...stale]
  }

  const tellNext = async (shift: NotifierState): Promise<boolean> => {
    const newest = await feed.newest()
    if (newest === shift.position) return false
    const found = await changes.behind(shift.position, newest, maxChangesPerRead)
    const isCut = found.length === maxChangesPerRead
    const position = isCut ? (found.at(-1)?.sequence ?? newest) : newest
    const realms = await staleBy(found, shift.ownRealms)
    const revoked = await revokedIn(found)
    shift.position = position
    if (realms.length > 0) for (const one of shift.edges) one.stale(realms, generationOf(position), revoked)
    return isCut
  }

  const probe = (shift: NotifierState) => {
    const isDue = clock.now() - shift.probedAt >= probeMs
    if (isDue) shift.probedAt = clock.now()
    for (const one of shift.edges) if (isDue || !one.isReached()) void one.look()
  }

  const follower = createFollower(tools, {
    name: 'edge_generations',
    complaint: 'SIP edges could not be told of changes',
    gatherMs: 100,
    wanted: async () => kamailioIn(await settings.of(switchSettings)),
    begin,
    look: probe,
    next: tellNext,
    async end({ edges }) {
      await Promise.all(edges.map((one) => one.end()))
      for (const { edge } of edges) await outages.forget(edge.host)
    },
  })

  metrics.gauge(
    {
      name: 'crosspoint_sip_edges',
      help: 'SIP edges that this process tells of changes, by whether they are reached.',
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

  return follower.job
}
