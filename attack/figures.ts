// Counters of a run, and its report at the end.
import type { WireRequest } from './wire.ts'

export type FaultKind = 'leak' | 'fault' | 'accepted' | 'cut' | 'smuggled' | 'changed' | 'log' | 'memory'

interface Fault {
  kind: FaultKind
  /** What is alike in all of its kind. */
  what: string
  /** The command that reproduces the first fault of its kind. */
  story: string
  times: number
}

interface Slow {
  ms: number
  title: string
}

const maxSlow = 5

/** Prints each kind of fault when it occurs for the first time. */
export const createFigures = (say: (line: string) => void) => {
  const statuses = new Map<number, number>()
  const rawStatuses = new Map<number, number>()
  const named = new Map<string, number>()
  const faults = new Map<string, Fault>()
  let slowest: Slow[] = []
  let requests = 0
  let raw = 0

  const add = <K>(counts: Map<K, number>, key: K) => counts.set(key, (counts.get(key) ?? 0) + 1)

  return {
    statuses,
    faults: () => [...faults.values()],
    requests: () => requests + raw,
    raw: () => raw,
    answered(status: number, ms: number, request: WireRequest, title: string) {
      requests += 1
      add(statuses, status)
      if (status >= 500) add(named, `${status} ${title}`)
      if (slowest.length === maxSlow && ms <= (slowest.at(-1)?.ms ?? 0)) return
      const slow = {
        ms,
        title: `${request.method} ${request.path.slice(0, 200)} (${request.body?.length ?? 0} bytes)`,
      }
      slowest = [...slowest, slow].sort((a, b) => b.ms - a.ms).slice(0, maxSlow)
    },
    answeredRaw(found: readonly number[]) {
      raw += 1
      for (const status of found) add(rawStatuses, status)
    },
    fault(kind: FaultKind, what: string, story: () => string) {
      const known = faults.get(`${kind} ${what}`)
      if (known) {
        known.times += 1
        return
      }
      const fault = { kind, what, story: story(), times: 1 }
      faults.set(`${kind} ${what}`, fault)
      say(`  ${kind.toUpperCase()} ${what}\n      ${fault.story}`)
    },
    lines(): string[] {
      const refused = [...statuses].filter(([status]) => status >= 400 && status < 500)
      const table = (counts: Map<number, number>) =>
        [...counts]
          .sort(([a], [b]) => a - b)
          .map(([status, count]) => `${status}: ${count}`)
          .join('  ')
      const byName = [...named].sort(([, a], [, b]) => b - a).map(([name, count]) => `    ${count} x ${name}`)
      return [
        `requests: ${requests}, and ${raw} over separate sockets`,
        `answers: ${table(statuses)}`,
        `answers to what is no HTTP: ${table(rawStatuses)}`,
        `refusals: ${refused.reduce((sum, [, count]) => sum + count, 0)}`,
        `5xx: ${byName.length === 0 ? 'none' : 'by status and route'}`,
        ...byName.slice(0, 40),
        'slowest:',
        ...slowest.map(({ ms, title }) => `    ${ms.toFixed(0)} ms  ${title}`),
      ]
    },
  }
}

export type Figures = ReturnType<typeof createFigures>
