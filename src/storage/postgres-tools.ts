// PostgreSQL's own programs, which know best what a copy of a database is.
import { execFile, spawn } from 'node:child_process'
import type { Readable } from 'node:stream'
import { promisify } from 'node:util'
import pg from 'pg'
import { codeOf, messageOf } from '../lib/error-facts.ts'
import { Refusal } from './saved-store.ts'

const runFile = promisify(execFile)

type Tool = 'pg_dump' | 'pg_restore'

/** A database, and what programs that work on it are started with. */
export interface PostgresPlace {
  url: string
  environment: NodeJS.ProcessEnv
}

// From this version on they set `transaction_timeout` where they restore, which older servers do not know; and what they
// dump, older ones do not read.
const parting = 17

const wordsOf = (server: number) => {
  const fitting = server < parting ? `${server} (none newer than ${parting - 1})` : `${server} or newer`
  return `install the client programs of PostgreSQL ${fitting}, and have them first in PATH`
}

const versionOf = async (tool: Tool, server: number) => {
  try {
    const { stdout } = await runFile(tool, ['--version'])
    const version = / (\d+)[.\d]*/.exec(stdout)?.[1]
    if (version === undefined) throw new Refusal(`${tool} does not tell its version: ${stdout.trim()}`)
    return Number(version)
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error
    throw new Refusal(`${tool} is missing on this machine: ${wordsOf(server)}`)
  }
}

/**
 * Refuses a tool that is missing, older than the server, whose major version is given, or too new for anything to be
 * restored into it.
 */
export const checkTool = async (tool: Tool, server: number): Promise<void> => {
  const version = await versionOf(tool, server)
  if (version < server || (version >= parting && server < parting))
    throw new Refusal(`${tool} is of PostgreSQL ${version}, the server of ${server}: ${wordsOf(server)}`)
}

const credentials = /^(postgres(?:ql)?:\/\/)[^/?#]*@/

/**
 * A process list shows what a program is called with: the password goes another way. User and password are what pg
 * takes them for, which reads an @ and a % otherwise than PostgreSQL's programs do.
 */
const secretly = (url: string) => {
  if (!credentials.test(url)) return { address: url, password: {} }
  const { user = '', password } = new pg.Client({ connectionString: url })
  return {
    address: url.replace(credentials, `$1${encodeURIComponent(user)}@`),
    password: password ? { PGPASSWORD: password } : {},
  }
}

interface RunningTool {
  output: Readable
  /** Throws what the program said when it failed. */
  ended: Promise<void>
  /** Ends it, if it still runs. */
  stop(): void
}

/** Starts a tool on a database. What it writes on standard output is the caller's to read. */
export const startTool = (
  tool: Tool,
  { url, environment }: PostgresPlace,
  args: readonly string[],
): RunningTool => {
  const { address, password } = secretly(url)
  const child = spawn(tool, [`--dbname=${address}`, '--no-password', ...args], {
    env: { ...environment, ...password },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said = (said + text).slice(-4000)
  })
  const ended = new Promise<void>((resolve, reject) => {
    child.once('error', (error) => reject(new Refusal(`${tool} could not be started: ${messageOf(error)}`)))
    child.once('close', (code) =>
      code === 0 ? resolve() : reject(new Refusal(`${tool} failed: ${said.trim() || `status ${code}`}`)),
    )
  })
  // It is awaited when its output has been read; until then nobody hears of it.
  ended.catch(() => undefined)
  const stop = () => {
    child.kill()
    // What is in it already is nobody's any more.
    child.stdout.destroy()
  }
  return { output: child.stdout, ended, stop }
}
