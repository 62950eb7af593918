// Debian's Kamailio with the configuration that is shipped, on separate ports.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, copyFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type EdgeValues, writeEdgeFiles } from '../../../src/commands/edge.ts'
import { eventually } from '../run/eventually.ts'
import { freePort } from './free-port.ts'
import { findProgram, lacks } from './installed.ts'

const program = findProgram('kamailio')

// Kamailio starts the timer of a call after it has sent the 200. On a busy machine the ACK comes before, at another of its
// processes, which finds no timer to update. The timer starts all the same.
const earlyAck = /update_dlg_timer\(\): Trying to update a bogus dlg|failed to update dialog lifetime/

export const lacksKamailio = lacks('kamailio')

const rpcSecret = 'secret-of-the-tests'

// Kamailio writes into the same file.
const lockMs = 60_000

export interface EdgeFacts {
  server: string
  key: string
  values?: EdgeValues['values']
  /** Further listeners, by their name in the test. */
  listeners?: readonly string[]
  /** Further lines of `values.cfg`: settings of Kamailio itself. */
  settings?: readonly string[]
  /** Settings of all tests, instead of the shipped ones. */
  usual?: EdgeValues['values']
}

// A slow server on a busy machine gets each request and report once.
const usualOfTests = {
  SERVER_REST_S: 1,
  SERVER_TIMEOUT_S: 30,
  UDP_WORKERS: 2,
  TCP_WORKERS: 2,
}

export type SipEdge = Awaited<ReturnType<typeof startSipEdge>>

export const startSipEdge = async ({
  server,
  key,
  values = {},
  listeners = [],
  settings = [],
  usual = usualOfTests,
}: EdgeFacts) => {
  const folder = mkdtempSync(join(tmpdir(), 'crosspoint-edge-'))
  const state = join(folder, 'state')
  const [port, rpcPort] = [await freePort(), await freePort()]
  writeEdgeFiles(
    { folder, isForced: false, owner: undefined },
    {
      listeners: [`udp:127.0.0.1:${port}`, `tcp:127.0.0.1:${port}`, ...listeners],
      requestsAt: `127.0.0.1:${rpcPort}`,
      stateDirectory: state,
      values: {
        SERVER_URL: server,
        SERVER_KEY: key,
        RPC_PORT: rpcPort,
        RPC_SECRET: rpcSecret,
        TOPOLOGY_KEY: 'key-of-the-tests',
        ...usual,
        ...values,
      },
    },
  )
  appendFileSync(join(folder, 'values.cfg'), settings.map((line) => `${line}\n`).join(''))
  mkdirSync(state)
  for (const name of ['registrations.db', 'calls.db'])
    copyFileSync(join(folder, 'empty.db'), join(state, name))

  let log = ''
  let child: ChildProcess

  const rpc = async (method: string, params: readonly unknown[] = [], secret = rpcSecret) => {
    const response = await fetch(`http://127.0.0.1:${rpcPort}/RPC`, {
      method: 'POST',
      headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    })
    const text = await response.text()
    return { status: response.status, body: text === '' ? undefined : JSON.parse(text) }
  }

  const start = async () => {
    // Its own group: Kamailio is many processes, and a crash takes all of them.
    child = spawn(
      program ?? '',
      ['-f', join(folder, 'kamailio.cfg'), '-DD', '-E', '-m', '512', '-M', '16', '-w', folder],
      { detached: true, stdio: ['ignore', 'pipe', 'pipe'] },
    )
    const started = child
    for (const stream of [started.stdout, started.stderr])
      stream?.setEncoding('utf8').on('data', (chunk) => {
        log += chunk
      })
    await eventually(
      () =>
        started.exitCode === null
          ? rpc('core.uptime').then(
              ({ status }) => status === 200,
              () => false,
            )
          : Promise.reject(new Error(`Kamailio has ended:\n${log}`)),
      (isThere) => isThere,
    )
  }

  const stop = async (signal: NodeJS.Signals) => {
    if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return
    const ended = once(child, 'exit')
    process.kill(signal === 'SIGKILL' ? -child.pid : child.pid, signal)
    await ended
  }

  await start().catch(async (error) => {
    await stop('SIGKILL')
    throw new Error(`Kamailio does not answer:\n${log}`, { cause: error })
  })
  return {
    port,
    rpcPort,
    rpcSecret,
    folder,
    rpc,
    start,
    stop,
    log: () => log,
    /** The lines of its log that an operator would have to look at. */
    complaints: () => log.split('\n').filter((line) => /ERROR|CRITICAL/.test(line) && !earlyAck.test(line)),
    /** The id of its first process, which is the id of the group of all. */
    pid: () => child.pid,
    /** Reads what it keeps. */
    kept(query: string) {
      const file = new DatabaseSync(join(state, 'calls.db'), { readOnly: true, timeout: lockMs })
      try {
        return file.prepare(query).all()
      } finally {
        file.close()
      }
    },
    /** Blocks other writers until the returned function is called. */
    hold() {
      const file = new DatabaseSync(join(state, 'calls.db'), { timeout: lockMs })
      file.exec('BEGIN IMMEDIATE')
      return () => file.close()
    },
    /** Data of a realm are stale from now on. */
    outdate: (realm: string, generation: number) => rpc('htable.seti', ['generations', realm, generation]),
    async end() {
      await stop('SIGTERM')
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
