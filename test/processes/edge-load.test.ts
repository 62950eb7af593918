// Many calls at once through Debian's Kamailio: SIPp counts what it has carried, and the records have to be as many.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, it, onTestFinished } from 'vitest'
import { eventually } from '../support/run/eventually.ts'
import { countOf } from '../support/run/run-length.ts'
import { freePort } from '../support/servers/free-port.ts'
import { findProgram, lacks } from '../support/servers/installed.ts'
import { lacksKamailio, startSipEdge } from '../support/servers/sip-edge.ts'
import { deviceOf, passwordOf, startSipServer } from '../support/servers/sip-server.ts'

const lacking = lacksKamailio || lacks('sipp')
const scenario = (name: string) => new URL(`../fixtures/sip/${name}.xml`, import.meta.url).pathname

const calls = Number(process.env.CROSSPOINT_EDGE_CALLS ?? countOf(50, 150))
const perSecond = 50

const sipp = (folder: string, ...args: string[]) =>
  spawn(findProgram('sipp') ?? '', ['-i', '127.0.0.1', '-nostdin', ...args], { cwd: folder })

it.skipIf(lacking)(
  `${perSecond} calls a second all leave their records, each once${lacking}`,
  { timeout: 300_000 + calls * 100 },
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'crosspoint-sipp-'))
    const server = await startSipServer()
    const edge = await startSipEdge({ server: server.url, key: 'key' })
    onTestFinished(async () => {
      await edge.end()
      await server.close()
      rmSync(folder, { recursive: true, force: true })
    })
    const [answering, calling] = [await freePort(), await freePort()]
    const realm = 'acme.test'
    // A device that does not register: the edge rings it at the address in the answer of the server.
    const bob = { type: 'device', device_id: deviceOf('bob'), delay_s: 0, timeout_s: 20 }
    server.rings('200', [], realm, { targets: [{ ...bob, uri: `sip:bob@127.0.0.1:${answering}` }] })
    const phones = sipp(folder, '-sf', scenario('answer'), '-p', String(answering))
    onTestFinished(() => void phones.kill())
    const who = `${realm};ada;[authentication username=ada password=${passwordOf('ada')}];200\n`
    writeFileSync(join(folder, 'callers.csv'), `SEQUENTIAL\n${who}`)
    const caller = sipp(
      folder,
      ...['-sf', scenario('call'), '-inf', 'callers.csv', '-d', '300', '-p', String(calling)],
      ...['-m', String(calls), '-r', String(perSecond), `127.0.0.1:${edge.port}`],
    )
    const [shown, [status]] = await Promise.all([text(caller.stdout), once(caller, 'exit')])
    expect([status, status === 0 ? '' : `${shown.slice(-2000)}\n${edge.log()}`]).toEqual([0, ''])
    const records = await eventually(
      () => server.taken('records'),
      (taken) => taken.length >= 2 * calls,
    )
    expect(records).toHaveLength(2 * calls)
    expect(new Set(records.map((one) => one.call_id)).size).toBe(2 * calls)
    // Kamailio complains where packets of a call overtake each other. No process may have given up on the file.
    expect(edge.log()).not.toMatch(/locked|lost/)
  },
)
