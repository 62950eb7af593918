// The attacked server in a separate process, with its memory and log observed.
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { end } from '../bench/children.ts'
import { memoryOf, processorSecondsOf } from '../bench/server.ts'
import { programOf } from '../scripts/bundle.mjs'
import { environment, nodeOptions } from '../scripts/server-process.mjs'

export interface Place {
  dataDir: string
  /** Undefined: the embedded store. */
  databaseUrl: string | undefined
  /** A name server that responds immediately: otherwise generated names would cost timeouts. */
  dnsServer: string
  /** `NODE_OPTIONS` of the server. */
  nodeOptions?: string
}

export interface Target {
  port: number
  /** Resident memory in megabytes; undefined where the system does not tell. */
  memory(): Promise<number | undefined>
  /** Processor time that it has taken so far. */
  processorSeconds(): Promise<number>
  /** Lines that the server has logged since the last call. */
  takeLog(): string[]
  /** False if the process has exited. */
  isAlive(): boolean
  /** Ends it as an operator would; its exit status. */
  stop(): Promise<number | null>
}

export const adminPassword = 'attack-secret'

const program = programOf(fileURLToPath(new URL('..', import.meta.url)))

export const startTarget = async (place: Place): Promise<Target> => {
  const { dataDir, databaseUrl, dnsServer } = place
  const child = spawn(process.execPath, [...nodeOptions, program, 'serve'], {
    env: {
      ...environment,
      PATH: process.env.PATH,
      CROSSPOINT_DATA_DIR: dataDir,
      CROSSPOINT_PORT: '0',
      CROSSPOINT_ADMIN_PASSWORD: adminPassword,
      CROSSPOINT_DNS_SERVERS: dnsServer,
      NODE_OPTIONS: place.nodeOptions,
      ...(databaseUrl ? { CROSSPOINT_DATABASE_URL: databaseUrl } : {}),
    },
    // Over the channel it notices when this process is killed.
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  const { stdout, stderr, pid } = child
  if (!stdout || !stderr || pid === undefined) throw new Error('the server has no output')
  let log: string[] = []
  createInterface({ input: stderr }).on('line', (line) => log.push(line))
  const port = await new Promise<number>((resolve, reject) => {
    createInterface({ input: stdout }).on('line', (line) => {
      const ready = /ready at http:\/\/[^ ]*:(\d+)$/.exec(line)
      if (ready) resolve(Number(ready[1]))
    })
    child.once('exit', (status) => reject(new Error(`the server ended with ${status}: ${log.join('\n')}`)))
  })
  return {
    port,
    memory: async () => (await memoryOf(pid))?.now,
    processorSeconds: () => processorSecondsOf(pid),
    takeLog() {
      const taken = log
      log = []
      return taken
    },
    isAlive: () => child.exitCode === null && child.signalCode === null,
    async stop() {
      await end(child)
      return child.exitCode
    },
  }
}
