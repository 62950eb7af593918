import { setTimeout as sleep } from 'node:timers/promises'
import type { Clock } from '../lib/clock.ts'
import type { Metrics, Reading } from '../lib/metrics.ts'
import type { WorkStore } from './store.ts'

interface Tools {
  metrics: Metrics
  rows: Pick<WorkStore, 'backlog'>
  clock: Clock
  kinds(): readonly string[]
}

/** However many there are, no more are counted: who asks for figures costs the store little. */
const mostCounted = 1000
/** What was counted is told again for so long. */
const heldMs = 5000
/** A store that does not answer must not keep the other figures away. */
const patienceMs = 2000

interface Backlog {
  kind: string
  waiting: number
  due: number
  oldestSeconds: number
}

/** Tells of errands, by kind: how many wait, how late they are, what came of them. */
export const measureQueue = ({ metrics, rows, clock, kinds }: Tools) => {
  const labels = ['queue']
  const running = new Map<string, number>()
  let counted: { at: number; backlogs: Promise<Backlog[]> } | undefined

  const backlogOf = async (kind: string): Promise<Backlog> => {
    const now = clock.now()
    const { waiting, due, oldest } = await rows.backlog(kind, now, mostCounted)
    return { kind, waiting, due, oldestSeconds: oldest === 0 ? 0 : Math.max(0, now - oldest) / 1000 }
  }

  /** The gauges are read together, and share what was counted. */
  const backlogs = () => {
    if (!counted || performance.now() - counted.at > heldMs)
      counted = { at: performance.now(), backlogs: Promise.all(kinds().map(backlogOf)) }
    return counted.backlogs
  }

  const each = (figure: (backlog: Backlog) => number) => async (): Promise<Reading[]> =>
    (await Promise.race([backlogs(), sleep<Backlog[]>(patienceMs, [], { ref: false })])).map((backlog) => ({
      labels: [backlog.kind],
      value: figure(backlog),
    }))

  const help = `counted to ${mostCounted}`
  metrics.gauge(
    { name: 'crosspoint_jobs_waiting', help: `Errands that wait, due or not, ${help}.`, labels },
    each(({ waiting }) => waiting),
  )
  metrics.gauge(
    { name: 'crosspoint_jobs_due', help: `Errands that are due, ${help}.`, labels },
    each(({ due }) => due),
  )
  metrics.gauge(
    {
      name: 'crosspoint_jobs_oldest_age_seconds',
      help: 'How long the errand that is due longest has been due.',
      labels,
    },
    each(({ oldestSeconds }) => oldestSeconds),
  )
  metrics.gauge(
    {
      name: 'crosspoint_jobs_running',
      help: 'Errands that this process is carrying out.',
      labels,
    },
    () => kinds().map((kind) => ({ labels: [kind], value: running.get(kind) ?? 0 })),
  )
  const tries = metrics.counter({
    name: 'crosspoint_jobs_tries_total',
    help: 'Errands that were tried, by how they stood then.',
    labels: ['queue', 'state'],
  })

  const move = (kind: string, by: number) => running.set(kind, (running.get(kind) ?? 0) + by)

  return {
    /** An errand is carried out, until what it answers with is called. */
    enter(kind: string) {
      move(kind, 1)
      return () => void move(kind, -1)
    },
    tried: (kind: string, state: string) => tries.labels(kind, state).inc(),
  }
}
