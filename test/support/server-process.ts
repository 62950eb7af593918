import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { program } from './program.ts'

export interface ServerProcess {
  port: number
  url: string
  dataDir: string
  process: ChildProcess
  /** Everything printed on standard output so far. */
  output(): string
  errors(): string
  /** The lines of it that tell of more than requests that were refused. */
  faults(): string[]
  /** Ends it as an operator would and waits; answers with the exit code. */
  end(signal?: NodeJS.Signals): Promise<number | null>
}

/**
 * A real server in a process of its own, on a free port. `undefined` takes a variable away. No file it writes becomes
 * larger than so many blocks of the shell's `ulimit -f`.
 */
export const startServerProcess = async (
  environment: Record<string, string | undefined> = {},
  dataDir = mkdtempSync(join(tmpdir(), 'crosspoint-')),
  { largestFileBlocks }: { largestFileBlocks?: number } = {},
): Promise<ServerProcess> => {
  const env: Record<string, string | undefined> = {
    ...process.env,
    CROSSPOINT_PORT: '0',
    CROSSPOINT_DATA_DIR: dataDir,
    CROSSPOINT_ADMIN_PASSWORD: 'secret',
    CROSSPOINT_DRAIN_SECONDS: '0',
    ...environment,
  }
  const limit = largestFileBlocks === undefined ? '' : `ulimit -f ${largestFileBlocks};`
  const command = ['-c', `${limit} exec "$0" "$@"`, process.execPath, program, 'serve']
  const child = spawn('/bin/sh', command, { env, stdio: ['ignore', 'pipe', 'pipe'] })
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
    child.once('exit', (code) =>
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
    async end(signal = 'SIGTERM') {
      if (child.exitCode !== null || child.signalCode !== null) return child.exitCode
      child.kill(signal)
      const [code] = await once(child, 'exit')
      return code as number | null
    },
  }
}

export const removeDataDir = (server: ServerProcess) =>
  rmSync(server.dataDir, { recursive: true, force: true })
