import { type ChildProcess, spawn } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { nodeOptions, program } from '../run/program.ts'
import { testConnections } from './postgres.ts'

export interface ServerProcess {
  port: number
  url: string
  dataDir: string
  process: ChildProcess
  /** Everything printed on standard output so far. */
  output(): string
  errors(): string
  /** Its lines except those about refused requests. */
  faults(): string[]
  /** Stops it like an operator and waits. Returns the exit code. */
  end(signal?: NodeJS.Signals): Promise<number | null>
}

type Environment = Record<string, string | undefined>

const newDirectory = () => mkdtempSync(join(tmpdir(), 'crosspoint-'))

interface StartOptions {
  /** No file that the server writes becomes larger than this number of blocks of the shell's `ulimit -f`. */
  largestFileBlocks?: number
  /** Of `serve`. */
  args?: readonly string[]
}

const start = async (
  environment: Environment,
  dataDir: string,
  { largestFileBlocks, args = [] }: StartOptions = {},
) => {
  const env: Environment = {
    ...process.env,
    CROSSPOINT_PORT: '0',
    CROSSPOINT_DATA_DIR: dataDir,
    CROSSPOINT_ADMIN_PASSWORD: 'secret',
    CROSSPOINT_DRAIN_SECONDS: '0',
    // A connection costs PostgreSQL 40 ms of processor time.
    CROSSPOINT_DATABASE_CONNECTIONS: String(testConnections),
    ...environment,
    NODE_OPTIONS: nodeOptions(environment.NODE_OPTIONS),
  }
  const limit = largestFileBlocks === undefined ? '' : `ulimit -f ${largestFileBlocks};`
  const command = ['-c', `${limit} exec "$0" "$@"`, process.execPath, program, 'serve', ...args]
  const child = spawn('/bin/sh', command, { env, stdio: ['ignore', 'pipe', 'pipe'] })
  // After it, all that the process has printed is here.
  const closed = new Promise<number | null>((resolve) => child.once('close', resolve))
  let output = ''
  let errors = ''
  child.stderr.on('data', (chunk) => {
    errors += chunk
  })
  const port = await new Promise<number>((resolve, reject) => {
    child.stdout.on('data', (chunk) => {
      output += chunk
      const ready = /ready at http:\/\/[^\s]+:(\d+)/.exec(output)
      if (ready) resolve(Number(ready[1]))
    })
    void closed.then((code) =>
      reject(new Error(`the server ended with ${code} before it was ready:\n${errors}`)),
    )
  })
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    dataDir,
    process: child,
    output: () => output,
    errors: () => errors,
    faults: () => errors.split('\n').filter((line) => line !== '' && !line.includes('"level":"info"')),
    end(signal = 'SIGTERM') {
      if (child.exitCode === null && child.signalCode === null) child.kill(signal)
      return closed
    },
  } satisfies ServerProcess
}

const firstStart = async () => {
  const dataDir = newDirectory()
  process.once('exit', () => rmSync(dataDir, { recursive: true, force: true }))
  const server = await start({ CROSSPOINT_DATABASE_URL: undefined }, dataDir)
  const code = await server.end()
  if (code !== 0) throw new Error(`the first start ended with ${code}:\n${server.errors()}`)
  return dataDir
}

let started: ReturnType<typeof firstStart> | undefined

/** Copies the SQLite store of a first start, which happens once in each process of the tests. */
export const copyFirstStart = async (dataDir: string) => {
  started ??= firstStart()
  cpSync(await started, dataDir, { recursive: true })
}

// Settings with an effect on the first start.
const settingsOfFirstStart = /^CROSSPOINT_(ADMIN|MASTER)_|^CROSSPOINT_TEST_KEYS$/

const isUsualFirstStart = (environment: Environment, dataDir: string) => {
  const { CROSSPOINT_DATABASE_URL: databaseUrl } = { ...process.env, ...environment }
  const hasOwnSettings = Object.keys(environment).some((name) => settingsOfFirstStart.test(name))
  const isEmpty = !existsSync(dataDir) || readdirSync(dataDir).length === 0
  return databaseUrl === undefined && !hasOwnSettings && isEmpty
}

/**
 * Starts a real server in its own process, on a free port. `undefined` removes a variable. An empty directory gets a copy of a first
 * start on SQLite, which takes twice the processor time of later starts. A server with settings of the administrator or of the master
 * account has its own first start.
 */
export const startServerProcess = async (
  environment: Environment = {},
  dataDir = newDirectory(),
  options: StartOptions = {},
): Promise<ServerProcess> => {
  if (isUsualFirstStart(environment, dataDir)) await copyFirstStart(dataDir)
  return start(environment, dataDir, options)
}

export const removeDataDir = (server: ServerProcess) =>
  rmSync(server.dataDir, { recursive: true, force: true })
