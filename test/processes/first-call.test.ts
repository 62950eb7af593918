// The commands of the page about the first call, in the order of the page: a server, its edge, and two phones that call each other.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import type { Json } from '../../src/lib/json.ts'
import { commandsOf, root } from '../support/matchers/pages.ts'
import { freePort } from '../support/servers/free-port.ts'
import { findProgram, lacks } from '../support/servers/installed.ts'
import { lacksKamailio } from '../support/servers/sip-edge.ts'

const lacking = lacksKamailio || lacks('baresip')

const page = 'docs/start/first-call.md'
const ours = 'test/processes/first-call.test.ts does.'
const all = commandsOf(page).map((block) => ({ ...block, isOurs: block.notRun === ours }))
const carried = all.filter(({ isOurs }) => isOurs).map(({ text }) => text)
const [looking = ''] = carried.splice(-1)

/** Number of commands: continuation lines are indented. */
const countOf = (lines: string) => lines.match(/^[^#\s]/gm)?.length

const madeByUse = new Set(['data', '.git', '.installing'])

/** A directory like a fresh clone, with room for what the commands leave behind. */
const freshClone = () => {
  const clone = mkdtempSync(join(tmpdir(), 'crosspoint-call-'))
  for (const name of readdirSync(root)) {
    if (!madeByUse.has(name)) symlinkSync(join(root, name), join(clone, name))
  }
  return clone
}

const program = (directory: string, name: string, lines: string) => {
  const path = join(directory, name)
  writeFileSync(path, `#!/bin/sh\nset -eu\n${lines}\n`)
  chmodSync(path, 0o755)
}

/**
 * Placed before the machine's programs: an npm that leaves out the installation, and a systemctl that does what
 * Debian's unit of Kamailio does with the file that the page adds to it.
 */
const programs = (clone: string, unit: string) => {
  const directory = join(clone, 'programs')
  mkdirSync(directory)
  const crosspoint = `exec '${process.execPath}' bin/crosspoint.mjs`
  program(directory, 'npm', `[ "$1" = start ] && ${crosspoint} serve\nshift 3\n${crosspoint} "$@"`)
  program(
    directory,
    'systemctl',
    `[ "$*" = 'restart kamailio' ] || exit 0
mkdir -p state
sed -n 's/^ExecStartPre=//p' '${unit}' | sh -eu
eval "$(sed -n "s/^Environment='\\(.*\\)'$/\\1/p" '${unit}')"
'${findProgram('kamailio')}' -P '${clone}/kamailio.pid' -f "$CFGFILE" -m 64 -M "$PKG_MEMORY" -w '${clone}' --atexit=no`,
  )
  return directory
}

/** The commands as they are printed, but for places, addresses and ports that a test machine has. */
const asTyped = async (clone: string, unit: string) => {
  const [api, sip, requests] = [await freePort(), await freePort(), await freePort()]
  const ports = `--port ${sip} --rpc-port ${requests} --state-directory ${clone}/state --server http://127.0.0.1:${api}`
  // Records come a moment after the call.
  const bothLegs = `until [ "$(${looking.replaceAll(/^#.*\n/gm, '').trim()} | tee records | grep -c '"call_id"')" = 2 ]; do sleep 0.1; done`
  const typed = [...carried, bothLegs, 'cat records']
    .join('\n')
    .replaceAll('/etc/systemd/system/kamailio.service.d/crosspoint.conf', unit)
    .replaceAll('/etc/kamailio/crosspoint', join(clone, 'edge'))
    .replaceAll("$(hostname -I | cut -d ' ' -f 1)", '127.0.0.1')
    .replaceAll('--address $EDGE', `--address $EDGE ${ports}`)
    .replaceAll(/(secret-of-\w+) \$EDGE/g, `$1 $EDGE:${sip}`)
    .replaceAll('http://127.0.0.1:8000', `http://127.0.0.1:${api}`)
  return { typed, api }
}

it('is ten commands long, with the installation', () => {
  const [installation] = all
  expect(countOf([installation?.text, ...carried].join('\n'))).toBe(10)
})

it.skipIf(lacking)(`two softphones call each other${lacking}`, { timeout: 120_000 }, async () => {
  const clone = freshClone()
  const unit = join(clone, 'units', 'crosspoint.conf')
  const { typed, api } = await asTyped(clone, unit)
  const path = [programs(clone, unit), dirname(process.execPath), process.env.PATH].join(delimiter)
  const env = {
    PATH: path,
    HOME: clone,
    TMPDIR: clone,
    CROSSPOINT_PORT: `${api}`,
    CROSSPOINT_URL: `http://127.0.0.1:${api}`,
  }
  // A separate process group: what the page leaves running ends with the test. Kamailio makes one for itself.
  const shell = spawn('bash', ['--norc', '-euo', 'pipefail', '-c', typed], {
    cwd: clone,
    env,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const kamailio = join(clone, 'kamailio.pid')
  onTestFinished(() => {
    if (shell.pid !== undefined) process.kill(-shell.pid, 'SIGKILL')
    if (existsSync(kamailio)) process.kill(Number(readFileSync(kamailio, 'utf8')), 'SIGTERM')
    rmSync(clone, { recursive: true, force: true })
  })
  let output = ''
  let complaints = ''
  shell.stdout.setEncoding('utf8').on('data', (chunk) => {
    output += chunk
  })
  shell.stderr.setEncoding('utf8').on('data', (chunk) => {
    complaints += chunk
  })
  const [code] = await once(shell, 'exit')
  expect(code, `${output}\n${complaints}`).toBe(0)
  expect(output).toContain(
    'bob@acme.example.com is registered, and waits for calls\nada@acme.example.com talks with 101\n',
  )
  const records = JSON.parse(readFileSync(join(clone, 'records'), 'utf8')).data
  expect(records.map(({ hangup_cause }: Json) => hangup_cause)).toEqual([
    'NORMAL_CLEARING',
    'NORMAL_CLEARING',
  ])
  expect(new Set(records.map(({ interaction_id }: Json) => interaction_id)).size).toBe(1)
})
