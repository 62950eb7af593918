import { spawn } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { programOf } from '../scripts/bundle.mjs'
import { environment, nodeOptions } from '../scripts/server-process.mjs'
import { end } from './children.ts'

export interface Place {
  dataDir: string
  /** Undefined: the embedded store. */
  databaseUrl: string | undefined
  /** That answer requests; by the machine's processors when absent. */
  httpThreads?: number
}

export interface RunningServer {
  port: number
  pid: number
  /** From the start of the process to its first answer. */
  startMs: number
  /** Processor time that it has taken by then. */
  startProcessorMs: number
  stop(): Promise<void>
}

export const adminPassword = 'bench-secret'

const root = fileURLToPath(new URL('..', import.meta.url))
const program = programOf(root)
/** The same server, from the files that its bundle is made of. */
export const programOfSources = join(root, 'bin', 'crosspoint.mjs')

const environmentOf = ({ dataDir, databaseUrl, httpThreads }: Place) => ({
  ...environment,
  PATH: process.env.PATH,
  CROSSPOINT_DATA_DIR: dataDir,
  CROSSPOINT_PORT: '0',
  CROSSPOINT_ADMIN_PASSWORD: adminPassword,
  CROSSPOINT_LOG_LEVEL: 'error',
  CROSSPOINT_DRAIN_SECONDS: '0',
  ...(databaseUrl ? { CROSSPOINT_DATABASE_URL: databaseUrl } : {}),
  ...(httpThreads ? { CROSSPOINT_HTTP_THREADS: String(httpThreads) } : {}),
})

/** Starts the server in a separate process; with `profileDir` it writes a processor profile there. */
export const startServer = async (
  place: Place,
  profileDir?: string,
  script = program,
): Promise<RunningServer> => {
  const begun = performance.now()
  const profiling = profileDir ? ['--cpu-prof', `--cpu-prof-dir=${profileDir}`] : []
  const child = spawn(process.execPath, [...nodeOptions, ...profiling, script, 'serve'], {
    env: environmentOf(place),
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const lines = createInterface({ input: child.stdout })
  const port = await new Promise<number>((resolve, reject) => {
    lines.on('line', (line) => {
      const ready = /ready at http:\/\/[^ ]*:(\d+)$/.exec(line)
      if (ready) resolve(Number(ready[1]))
    })
    child.once('exit', (status) => reject(new Error(`the server ended with status ${status}`)))
  })
  const answer = await fetch(`http://127.0.0.1:${port}/readyz`)
  await answer.text()
  if (answer.status !== 200) throw new Error('the server is not ready')
  const startMs = performance.now() - begun
  const pid = child.pid as number
  const startProcessorMs = (await threadSecondsOf(pid)) * 1000
  return { port, pid, startMs, startProcessorMs, stop: () => end(child) }
}

/**
 * Resident memory in megabytes on Linux: now, at its maximum, and without mapped files; undefined elsewhere.
 */
export const memoryOf = async (pid: number) => {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
  const megabytes = (name: string) => Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(status)?.[1]) / 1024
  return status ? { now: megabytes('VmRSS'), peak: megabytes('VmHWM'), own: megabytes('RssAnon') } : undefined
}

/** Memory of a server that has nothing to do. */
export const restingMemoryOf = async (pid: number) => {
  await sleep(2000)
  return memoryOf(pid)
}

// Linux counts processor time in hundredths of a second.
export const ticksPerSecond = 100

/** Processor time of a process on Linux; NaN elsewhere. */
export const processorSecondsOf = async (pid: number) => {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  // The name in parentheses may hold spaces: user and system time are the 12th and 13th field behind it.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond
}

const idleAfterMs = 500
const idleShare = 0.1

/** The same of the threads that there are, to the microsecond; what has ended is not in it. */
const threadSecondsOf = async (pid: number) => {
  const threads = await readdir(`/proc/${pid}/task`).catch(() => [])
  const spent = await Promise.all(
    threads.map(async (thread) => {
      const stat = await readFile(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').catch(() => '0')
      return Number(stat.split(' ', 1)[0]) / 1e9
    }),
  )
  return threads.length === 0 ? Number.NaN : spent.reduce((sum, seconds) => sum + seconds, 0)
}

/** Waits until what answers left to do is done: processor time by then, and the seconds that it took. */
export const settled = async (spentBy: () => Promise<number>) => {
  const begun = performance.now()
  let spent = await spentBy()
  for (;;) {
    await sleep(idleAfterMs)
    const now = await spentBy()
    if (now - spent < (idleShare * idleAfterMs) / 1000)
      return { spent, seconds: (performance.now() - begun - idleAfterMs) / 1000 }
    spent = now
  }
}
