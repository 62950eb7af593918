// `npm run test:chance` in a small project that has its script, its delays and one test file.
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { countOf, inFullRun } from '../support/run/run-length.ts'

const root = join(import.meta.dirname, '../..')
const project = mkdtempSync(join(tmpdir(), 'crosspoint-chance-test-'))

const write = (path: string, text: string) => writeFileSync(join(project, path), text)

beforeAll(() => {
  for (const folder of ['scripts', 'test/support']) mkdirSync(join(project, folder), { recursive: true })
  for (const path of ['scripts/test-chance.mjs', 'test/support/run/delays.mjs'])
    cpSync(join(root, path), join(project, path))
  symlinkSync(join(root, 'node_modules'), join(project, 'node_modules'))
  write('package.json', '{ "type": "module" }')
  write(
    'test/steady.test.ts',
    `import { expect, it } from 'vitest'
    it('passes', () => expect(process.env.CROSSPOINT_TEST_DELAYS).toMatch(/^[45]$/))
    it('passes', () => {})`,
  )
  write(
    'test/unsteady.test.ts',
    `import { expect, it } from 'vitest'
    it('passes with one seed', () => expect(process.env.CROSSPOINT_TEST_SEED).toBe('4'))
    it('always passes', () => {})`,
  )
})

afterAll(() => rmSync(project, { recursive: true, force: true }))

const run = (...args: string[]) =>
  spawnSync(
    process.execPath,
    [join(project, 'scripts', 'test-chance.mjs'), `--busy=${countOf(0, 1)}`, ...args],
    {
      encoding: 'utf8',
      cwd: project,
    },
  )

inFullRun(() => {
  it('names the tests whose result differs between its runs, and how to repeat them', () => {
    const { status, stdout } = run('--runs=2', '--seed=4')
    expect(stdout.split('\n').slice(-4)).toEqual([
      'passed, failed       test/unsteady.test.ts',
      'passed, failed       test/unsteady.test.ts > passes with one seed',
      '2 files or tests failed or have other results in some runs. Repeat with --seed=4.',
      '',
    ])
    expect(status).toBe(1)
  })

  it('passes if all results are the same', () => {
    const { status, stdout } = run('--runs=2', '--seed=4', 'test/steady.test.ts')
    expect(stdout).toContain('The results of 2 files and tests are the same in 2 runs.\n')
    expect(status).toBe(0)
  })
})

it('delays responses, and what follows on a request stays behind its response', () => {
  write(
    'requests.mjs',
    `import { createServer, get } from 'node:http'
    const server = createServer((_request, response) => {
      response.write('begun')
      setImmediate(() => response.destroy())
    })
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
    const orders = new Map()
    for (let count = 0; count < 100; count += 1) {
      const seen = []
      const request = get({ port: server.address().port, host: '127.0.0.1', agent: false })
      request.on('response', (response) => {
        seen.push('response')
        response.on('error', () => {})
        response.resume()
      })
      request.on('error', () => {})
      await new Promise((resolve) => request.on('close', resolve))
      seen.push('close')
      orders.set(seen.join(), (orders.get(seen.join()) ?? 0) + 1)
    }
    server.close()
    console.log(JSON.stringify([...orders]))`,
  )
  const { stdout } = spawnSync(
    process.execPath,
    ['--import', join(project, 'test/support/run/delays.mjs'), join(project, 'requests.mjs')],
    { encoding: 'utf8', env: { ...process.env, CROSSPOINT_TEST_DELAYS: '4' } },
  )
  expect(stdout).toBe('[["response,close",100]]\n')
})

it('refuses options that it does not have', () => {
  const { status, stderr } = run('--times=2')
  expect(stderr).toContain('usage: npm run test:chance -- [--runs=N] [--seed=N] [--busy=N] [FILES]\n')
  expect(status).toBe(2)
})
