// Runs every command of a page, in its order, against a new server, with nothing set that the page does not set: the README and
// a drawn page in `npm test`, all pages in `npm run test:all`.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterEach, describe, expect, it } from 'vitest'
import {
  type Block,
  commandsOf,
  pagePaths,
  refusalsToldIn,
  root,
  setupOf,
} from '../support/matchers/pages.ts'
import { program as crosspoint, nodeOptions } from '../support/run/program.ts'
import { freePort } from '../support/servers/free-port.ts'
import { type ServerProcess, startServerProcess } from '../support/servers/server-process.ts'
import { someOf } from '../support/world/walk.ts'

const leaving: (() => unknown)[] = []
afterEach(async () => {
  for (const leave of leaving.splice(0).reverse()) await leave()
})

const madeByUse = new Set(['data', '.git', '.installing'])

/** A directory like a fresh clone, with room for what the commands leave behind. */
const freshClone = () => {
  const clone = mkdtempSync(join(tmpdir(), 'crosspoint-page-'))
  leaving.push(() => rmSync(clone, { recursive: true, force: true }))
  for (const name of readdirSync(root)) {
    if (!madeByUse.has(name)) symlinkSync(join(root, name), join(clone, name))
  }
  return clone
}

const program = (directory: string, name: string, lines: string) => {
  const path = join(directory, name)
  writeFileSync(path, `#!/bin/sh\n${lines}\n`)
  chmodSync(path, 0o755)
}

/**
 * Placed before the machine's programs: a curl that prints the status of each response, and an npm that leaves
 * out the installation (test/bootstrap.test.ts has what npm does).
 */
const programs = () => {
  const directory = mkdtempSync(join(tmpdir(), 'crosspoint-bin-'))
  leaving.push(() => rmSync(directory, { recursive: true, force: true }))
  program(
    directory,
    'curl',
    `PATH=\${PATH#*:}\nexport PATH\nexec curl "$@" --write-out '%{stderr}@@ %{http_code} %{url_effective}\\n'`,
  )
  program(
    directory,
    'npm',
    `[ "$1 $2 $3" = 'run crosspoint --' ] || { echo "npm $*" >&2; exit 64; }\nshift 3\nexec '${process.execPath}' '${crosspoint}' "$@"`,
  )
  return directory
}

/** The commands as they are printed, but for the password and the ports that a test machine has. */
const asTyped = async (blocks: readonly Block[], server: ServerProcess) => {
  const port = `${await freePort()}`
  const commands = blocks.map(({ text: lines, line }) => `echo "@@ line ${line}" >&2\n${lines}`)
  return [setupOf(blocks), ...commands]
    .join('\n')
    .replaceAll('the password that was shown', 'secret')
    .replaceAll('http://127.0.0.1:8000', server.url)
    .replaceAll(/\b9000\b/g, port)
}

const runIn = async (clone: string, script: string, url: string) => {
  const path = [programs(), dirname(process.execPath), process.env.PATH].join(delimiter)
  // The port is the test's, so the test has to pass the address that pages take for granted. The server's
  // sign-in keys cost little, so those of commands do too.
  const env = { PATH: path, HOME: clone, CROSSPOINT_URL: url, NODE_OPTIONS: nodeOptions('') }
  const ends = "trap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n"
  const shell = spawn('bash', ['--norc', '-euo', 'pipefail', '-c', ends + script], {
    cwd: clone,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [output, told, [code]] = await Promise.all([
    text(shell.stdout),
    text(shell.stderr),
    once(shell, 'close'),
  ])
  const refused = [...told.matchAll(/^@@ (\d{3}) /gm)].map(([, status]) => Number(status))
  return { code, output, told, refused: refused.filter((status) => status >= 400 || status === 0) }
}

const start = 'npm start'
const runnable = (path: string) =>
  commandsOf(path).filter(
    ({ notRun, language, text: lines }) =>
      notRun === undefined && language === 'sh' && lines.trim() !== start,
  )
const [readme = '', ...others] = pagePaths.filter((path) => runnable(path).length > 0)
const pages = [readme, ...someOf(1, others)]

describe('the commands of', () => {
  it.each(pages)('%s do what they say', async (path) => {
    const clone = freshClone()
    const server = await startServerProcess({}, join(clone, 'data'))
    leaving.push(() => server.end())
    const blocks = runnable(path)
    const ran = await runIn(clone, await asTyped(blocks, server), server.url)
    const all = `${ran.told}\n${ran.output}`.slice(-6000)
    expect(ran.code, all).toBe(0)
    expect(ran.refused, all).toEqual(blocks.flatMap(({ text: lines }) => refusalsToldIn(lines)))
  })
})
