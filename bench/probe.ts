// Times small requests one after the other in a separate process, so that other requests do not delay its
// clock.
import { Agent, request } from 'node:http'
import { createHistogram, performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { serveParent } from './parent.ts'

export interface ProbeJob {
  port: number
  token: string
  paths: readonly string[]
  seconds: number
}

/** Milliseconds. */
export interface ProbeResult {
  asked: number
  p50: number
  p99: number
  longest: number
}

const statusOf = (agent: Agent, port: number, path: string, token: string) =>
  new Promise<number>((resolve, reject) => {
    const outgoing = request(
      { port, host: '127.0.0.1', path, agent, headers: { 'x-auth-token': token } },
      (incoming) => {
        incoming.once('end', () => resolve(incoming.statusCode ?? 0))
        incoming.resume()
      },
    )
    outgoing.on('error', reject)
    outgoing.end()
  })

const probe = async ({ port, token, paths, seconds }: ProbeJob): Promise<ProbeResult> => {
  const agent = new Agent({ keepAlive: true })
  const histogram = createHistogram()
  const end = performance.now() + seconds * 1000
  for (let turn = 0; performance.now() < end; turn += 1) {
    const begun = performance.now()
    const status = await statusOf(agent, port, paths[turn % paths.length] as string, token)
    if (status !== 200) throw new Error(`a small GET answered ${status}`)
    histogram.record(Math.max(1, Math.round((performance.now() - begun) * 1000)))
    await sleep(5)
  }
  agent.destroy()
  const [p50, p99] = [50, 99].map((share) => histogram.percentile(share) / 1000) as [number, number]
  return { asked: histogram.count, p50, p99, longest: histogram.max / 1000 }
}

serveParent(probe)
