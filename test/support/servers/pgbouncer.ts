// The pooler that most installations have, where this machine has it (Debian: apt-get install pgbouncer).
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { eventually } from '../run/eventually.ts'
import { freePort } from './free-port.ts'
import { findProgram } from './installed.ts'
import { giveToServer, serverUser } from './postgres.ts'

/** Undefined: it is not installed. */
export const pgbouncer = findProgram('pgbouncer')

interface Pooling {
  mode: 'session' | 'transaction' | 'statement'
  /** Sessions at the server. */
  size: number
}

const isListening = async (port: number) => {
  const socket = connect(port, '127.0.0.1')
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}

/** A pooler in front of a database; `url` leads through it. */
export const startPgbouncer = async (program: string, databaseUrl: string, { mode, size }: Pooling) => {
  const directory = await mkdtemp(join(tmpdir(), 'crosspoint-pooler-'))
  await giveToServer(directory)
  const target = new URL(databaseUrl)
  const port = await freePort()
  const file = join(directory, 'pgbouncer.ini')
  const lines = [
    '[databases]',
    `* = host=${target.hostname} port=${target.port} user=${target.username} password=${target.password}`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${port}`,
    'unix_socket_dir =',
    'auth_type = any',
    `pool_mode = ${mode}`,
    `default_pool_size = ${size}`,
  ]
  await writeFile(file, `${lines.join('\n')}\n`, { mode: 0o600 })
  await giveToServer(file)
  const pooler = spawn(program, ['-q', file], { ...serverUser, stdio: 'ignore' })
  await eventually(
    () => isListening(port),
    (listens) => listens,
  )
  const url = new URL(databaseUrl)
  url.port = String(port)
  return {
    url: url.href,
    async close() {
      if (pooler.exitCode === null && pooler.signalCode === null) {
        pooler.kill('SIGKILL')
        await once(pooler, 'exit')
      }
      await rm(directory, { recursive: true, force: true })
    },
  }
}
