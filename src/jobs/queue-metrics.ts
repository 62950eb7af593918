import { setTimeout as sleep } from 'node:timers/promises'
import type { Clock } from '../lib/clock.ts'
import type { Metrics, Reading } from '../lib/metrics.ts'
import type { WorkStore } from './store.ts'

interface Deps {
  metrics: Metrics
  rows: Pick<WorkStore, 'backlog'>
  clock: Clock
  kinds(): readonly string[]
}

// Bounds the cost of reading the metrics.
const maxCounted = 1000
const reusedForMs = 5000
/** An unreachable store must not delay the other metrics. */
const timeoutMs = 2000

export const measureQueue = ({ metrics, rows, clock, kinds }: Deps) => {
  const labels = ['queue']
  const running = new Map<string, number>()
  let counted: { at: number; backlogs: Promise<Backlog[]> } | undefined

  const backlogOf = async (kind: string) => {
    const now = clock.now()
    const { waiting, due, oldest } = await rows.backlog(kind, now, maxCounted)
    return { kind, waiting, due, oldestSeconds: oldest === 0 ? 0 : Math.max(0, now - oldest) / 1000 }
  }

  type Backlog = Awaited<ReturnType<typeof backlogOf>>

  const backlogs = () => {
    if (!counted || performance.now() - counted.at > reusedForMs)
      counted = { at: performance.now(), backlogs: Promise.all(kinds().map(backlogOf)) }
    return Promise.race([counted.backlogs, sleep<Backlog[]>(timeoutMs, [], { ref: false })])
  }

  const gauge = (name: string, help: string, figure: (backlog: Backlog) => number) =>
    metrics.gauge(
      { name, help, labels },
      async (): Promise<Reading[]> =>
        (await backlogs()).map((backlog) => ({ labels: [backlog.kind], value: figure(backlog) })),
    )

  const help = `counted to ${maxCounted}`
  gauge('crosspoint_jobs_waiting', `Waiting jobs, due or not, ${help}.`, ({ waiting }) => waiting)
  gauge('crosspoint_jobs_due', `Due jobs, ${help}.`, ({ due }) => due)
  gauge(
    'crosspoint_jobs_oldest_age_seconds',
    'Seconds since the oldest due job became due.',
    ({ oldestSeconds }) => oldestSeconds,
  )
  metrics.gauge({ name: 'crosspoint_jobs_running', help: 'Jobs that this process is running.', labels }, () =>
    kinds().map((kind) => ({ labels: [kind], value: running.get(kind) ?? 0 })),
  )
  const tries = metrics.counter({
    name: 'crosspoint_jobs_attempts_total',
    help: 'Attempts to run a job, by result.',
    labels: ['queue', 'state'],
  })

  const move = (kind: string, by: number) => running.set(kind, (running.get(kind) ?? 0) + by)

  return {
    /** Called when a job begins; the returned function when it ends. */
    enter(kind: string) {
      move(kind, 1)
      return () => void move(kind, -1)
    },
    tried: (kind: string, state: string) => tries.labels(kind, state).inc(),
  }
}
