// Files that are shipped for operators, checked by the programs that will read them, where this machine has
// them. The proxies' configurations are run in test/processes/rolling-restart.test.ts.
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { environment, nodeOptions } from '../scripts/server-process.mjs'
import { settingsTable } from '../src/config/config.ts'
import { findProgram, lacks } from './support/servers/installed.ts'

const run = promisify(execFile)
const root = join(import.meta.dirname, '..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')

const unitFile = 'ops/systemd/crosspoint.service'
const processFiles = [unitFile, 'Dockerfile']
const supervised = [...processFiles, 'ops/compose/compose.yaml', 'ops/kubernetes/server.yaml']

const secondsIn = (text: string, pattern: RegExp) => Number(pattern.exec(text)?.[1] ?? Number.NaN)

describe('the files of supervisors', () => {
  it.each(processFiles)('%s starts the process as the launcher does', (path) => {
    const text = read(path)
    for (const option of nodeOptions) expect(text).toContain(option)
    for (const [name, value] of Object.entries(environment)) expect(text).toContain(`${name}=${value}`)
  })

  it.each(supervised)('%s sets only what is a setting', (path) => {
    const known = new Set(settingsTable.map(({ name }) => name))
    // Files that Compose generates.
    const ofCompose = ['CROSSPOINT_IMAGE', 'CROSSPOINT_NAME']
    const named = [...read(path).matchAll(/\bCROSSPOINT_[A-Z_]+/g)].map(([name]) => name)
    expect(named.filter((name) => !known.has(name) && !ofCompose.includes(name))).toEqual([])
  })

  it('keeps the address of a service out of the environment, where the port would be taken from', () => {
    expect(read('ops/kubernetes/server.yaml')).toMatch(/^ {6}enableServiceLinks: false$/m)
  })

  it('leaves time for the wait, and for what is in flight after it', () => {
    const drain = Number(settingsTable.find(({ name }) => name === 'CROSSPOINT_DRAIN_SECONDS')?.fallback)
    const inFlight = secondsIn(read('src/http/transport/server.ts'), /drainMilliseconds = (\d+)_000/)
    const patience = [
      secondsIn(read(unitFile), /^TimeoutStopSec=(\d+)$/m),
      secondsIn(read('ops/compose/compose.yaml'), /stop_grace_period: (\d+)s/),
      secondsIn(read('ops/kubernetes/server.yaml'), /terminationGracePeriodSeconds: (\d+)/),
    ]
    for (const seconds of patience) expect(seconds).toBeGreaterThan(drain + inFlight)
  })
})

const analyze = findProgram('systemd-analyze')

const lacksAnalyze = lacks('systemd-analyze')

describe.skipIf(lacksAnalyze)(`the unit for systemd${lacksAnalyze}`, () => {
  it('is understood, but for the program that is not installed here', async () => {
    const complaints = await run(analyze ?? '', ['verify', join(root, unitFile)]).then(
      ({ stderr }) => stderr,
      ({ stderr }: { stderr: string }) => stderr,
    )
    const others = complaints
      .split('\n')
      .filter((line) => line.includes('crosspoint') && !line.includes('is not executable'))
    expect(others).toEqual([])
  })

  it('gives the process little that it does not need', async () => {
    const { stdout } = await run(analyze ?? '', ['security', '--offline=true', join(root, unitFile)])
    expect(Number(/exposure level for crosspoint\.service: ([\d.]+)/.exec(stdout)?.[1])).toBeLessThan(3)
  })
})

const composed = async () => {
  const docker = findProgram('docker')
  const plugin = docker && (await run(docker, ['compose', 'version']).catch(() => undefined))
  if (docker && plugin) return [docker, 'compose']
  const alone = findProgram('docker-compose')
  return alone && [alone]
}
const compose = await composed()

const lacksCompose = lacks('docker compose', compose)

it.skipIf(lacksCompose)(`the file for Compose is understood${lacksCompose}`, async () => {
  const [program = '', ...args] = compose ?? []
  const asked = [...args, '-f', join(root, 'ops/compose/compose.yaml'), 'config']
  const env = { PATH: process.env.PATH, HOME: process.env.HOME }
  const filled = {
    CROSSPOINT_NAME: 'crosspoint.test',
    CROSSPOINT_ADMIN_PASSWORD: 'hidden',
    POSTGRES_PASSWORD: 'unknown',
  }
  const { stdout } = await run(program, asked, { env: { ...env, ...filled } })
  expect(stdout).toContain('postgres://crosspoint:unknown@postgres/crosspoint')
  expect(stdout.match(/^ {4}read_only: true$/gm)).toHaveLength(2)
  // The server does not start with a well-known password.
  await expect(run(program, asked, { env: { ...env, CROSSPOINT_NAME: 'crosspoint.test' } })).rejects.toThrow()
})

const kubectl = findProgram('kubectl')

const lacksKubectl = lacks('kubectl')

it.skipIf(lacksKubectl)(`the files for Kubernetes make one set of objects${lacksKubectl}`, async () => {
  const { stdout } = await run(kubectl ?? '', ['kustomize', join(root, 'ops/kubernetes')])
  const kinds = [...stdout.matchAll(/^kind: (\w+)$/gm)].map(([, kind]) => kind)
  expect(kinds.toSorted()).toEqual(['Namespace', 'PodDisruptionBudget', 'Service', 'Service', 'StatefulSet'])
  expect(stdout).toContain('image: registry.example.com/crosspoint:0.1.0')
  expect(stdout.match(/namespace: crosspoint$/gm)).toHaveLength(4)
})

const caddy = findProgram('caddy')

const lacksCaddy = lacks('caddy')

it.skipIf(lacksCaddy)(`the proxy of Compose is set up as the one that is tested${lacksCaddy}`, async () => {
  const adapted = async (path: string) => {
    const asked = ['adapt', '--adapter', 'caddyfile', '--config', join(root, path)]
    const env = { PATH: process.env.PATH, CROSSPOINT_NAME: 'crosspoint.example.com' }
    const { stdout } = await run(caddy ?? '', asked, { env })
    return stdout.replace(/"upstreams":\[[^\]]*\]/, '"upstreams":[]')
  }
  expect(await adapted('ops/compose/Caddyfile')).toBe(await adapted('ops/proxy/Caddyfile'))
})
