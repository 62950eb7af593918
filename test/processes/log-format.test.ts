// The format of the log that a real server chooses: at a terminal, elsewhere, and on all of its threads.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { styleText } from 'node:util'
import { expect, it, onTestFinished } from 'vitest'
import { eventually } from '../support/run/eventually.ts'
import { nodeOptions, program } from '../support/run/program.ts'
import { inFullRun } from '../support/run/run-length.ts'
import { findProgram, lacks } from '../support/servers/installed.ts'
import { Client } from '../support/world/client.ts'
import { startThreads } from '../support/world/pair.ts'

const requestLine = /^\d\d:\d\d:\d\d info {2}[A-Z]+ \S+ \d{3} [\d.]+ ms$/

it('is that of the settings on each thread', async () => {
  const pair = await startThreads({ CROSSPOINT_LOG_FORMAT: 'pretty' })
  onTestFinished(() => pair.end())
  const [first, second] = pair.transports.map(({ send }) => new Client(send))
  await first?.get('/healthz')
  await second?.get('/readyz')
  const errors = () => pair.servers[0]?.errors() ?? ''
  await eventually(errors, (text) => text.includes('GET /readyz 200'))
  const lines = errors().trimEnd().split('\n')
  expect(lines.filter((line) => !requestLine.test(line))).toEqual([])
})

// Other systems than Linux have a `script` with other options.
const script = process.platform === 'linux' && findProgram('script')
const lacking = lacks('script of util-linux', script)

/** Starts a server at a pseudo terminal. `text` returns what the terminal shows; `end` presses Ctrl-C and returns the status. */
const startAtTerminal = (environment: Record<string, string>) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'crosspoint-terminal-'))
  // Variables such as CI, NO_COLOR and DISPLAY change what a terminal shows: the server gets none of them.
  const env = {
    PATH: process.env.PATH,
    TERM: 'xterm',
    CROSSPOINT_PORT: '0',
    CROSSPOINT_DATA_DIR: dataDir,
    CROSSPOINT_ADMIN_PASSWORD: 'secret',
    NODE_OPTIONS: nodeOptions(),
    ...environment,
  }
  const command = `exec '${process.execPath}' '${program}' serve`
  const child = spawn(script || '', ['-qec', command, '/dev/null'], {
    env,
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  let text = ''
  child.stdout.setEncoding('utf8').on('data', (chunk) => {
    text += chunk
  })
  const ended = once(child, 'exit')
  const end = async () => {
    if (child.exitCode === null) child.stdin.write('\u0003')
    const [code] = await ended
    return code as number | null
  }
  onTestFinished(async () => {
    await end()
    rmSync(dataDir, { recursive: true, force: true })
  })
  return { text: () => text, end }
}

const urlIn = async (text: () => string) => {
  const ready = await eventually(text, (seen) => /ready at \S+/.test(seen))
  return /ready at (\S+)/.exec(ready)?.[1]
}

it.skipIf(lacking)(`is pretty and colored at a terminal${lacking}`, async () => {
  const server = startAtTerminal({})
  const url = await urlIn(server.text)
  await fetch(`${url}/healthz`)
  const text = await eventually(server.text, (seen) => seen.includes('GET /healthz'))
  const green = styleText('green', 'info ', { validateStream: false })
  expect(text).toContain(`${green} GET /healthz 200 `)
  expect(text.replace(green, 'info ').split('\r\n')).toContainEqual(expect.stringMatching(requestLine))
  expect(text).not.toContain('{"time"')
  expect(await server.end()).toBe(0)
})

inFullRun(() => {
  it.skipIf(lacking)(`is JSON at a terminal if the settings ask for it${lacking}`, async () => {
    const server = startAtTerminal({ CROSSPOINT_LOG_FORMAT: 'json' })
    const url = await urlIn(server.text)
    await fetch(`${url}/healthz`)
    const text = await eventually(server.text, (seen) => seen.includes('"route":"/healthz"'))
    expect(text).toMatch(/\n\{"time":"[^"]+","level":"info","message":"request",[^\n]+\}\r\n/)
    expect(await server.end()).toBe(0)
  })
})
