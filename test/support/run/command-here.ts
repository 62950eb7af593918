// Runs commands in the process of the tests. A separate process takes half a second of processor time to start.
import { syncBuiltinESMExports } from 'node:module'
import { Readable } from 'node:stream'
import threads from 'node:worker_threads'
import { runProgram } from '../../../src/commands/program.ts'
import type { Place } from '../servers/databases.ts'
import type { Ended } from './command-line.ts'
import { quickKeys } from './program.ts'

type Write = typeof process.stdout.write
type Listener = (...args: unknown[]) => void

/** Captures the output of a stream. The returned function restores the stream and returns the text. */
const captured = (stream: NodeJS.WriteStream) => {
  const write = stream.write
  const pieces: Uint8Array[] = []
  stream.write = ((piece: string | Uint8Array) => {
    pieces.push(Buffer.from(piece as string))
    return true
  }) as Write
  return () => {
    stream.write = write
    return Buffer.concat(pieces).toString()
  }
}

/** Answers with what removes the listeners that were added since. */
const withoutNewListeners = (emitter: NodeJS.EventEmitter, names: readonly string[]) => {
  const before = names.map((name) => new Set(emitter.rawListeners(name)))
  return () => {
    for (const [index, name] of names.entries())
      for (const listener of emitter.rawListeners(name))
        if (!before[index]?.has(listener)) emitter.removeListener(name, listener as Listener)
  }
}

/** Replaces standard input by a text. The returned function restores it. */
const fed = (input: string) => {
  const before = Object.getOwnPropertyDescriptor(process, 'stdin') as PropertyDescriptor
  Object.defineProperty(process, 'stdin', { configurable: true, value: Readable.from([Buffer.from(input)]) })
  return () => Object.defineProperty(process, 'stdin', before)
}

const assign = (values: Readonly<Record<string, string | undefined>>) => {
  for (const [name, value] of Object.entries(values))
    if (value === undefined) delete process.env[name]
    else process.env[name] = value
}

/** Until the returned function is called, new threads hash passwords at the low cost of the tests. */
const withQuickKeys = () => {
  const { Worker } = threads
  class WorkerWithQuickKeys extends Worker {
    constructor(script: string | URL, options: threads.WorkerOptions = {}) {
      super(script, { execArgv: [...process.execArgv, `--import=${quickKeys}`], ...options })
    }
  }
  const use = (worker: typeof Worker) => {
    threads.Worker = worker
    syncBuiltinESMExports()
  }
  use(WorkerWithQuickKeys)
  return () => use(Worker)
}

/** Where the commands of a place find its store. */
export const environmentOf = ({ dataDir, databaseUrl }: Pick<Place, 'dataDir' | 'databaseUrl'>) => ({
  CROSSPOINT_DATA_DIR: dataDir,
  CROSSPOINT_DATABASE_URL: databaseUrl,
})

/**
 * Runs a command line with these environment variables, as `crosspoint` does; `undefined` removes one. Commands run one after the
 * other, because input, output and environment belong to the process.
 */
export const runHere = async (
  environment: Readonly<Record<string, string | undefined>>,
  args: readonly string[],
  input = '',
): Promise<Ended> => {
  const before = Object.fromEntries(Object.keys(environment).map((name) => [name, process.env[name]]))
  assign(environment)
  const mask = process.umask()
  const undo = [
    withQuickKeys(),
    fed(input),
    withoutNewListeners(process, ['SIGINT', 'SIGTERM', 'SIGHUP']),
    withoutNewListeners(process.stdout, ['error']),
    withoutNewListeners(process.stderr, ['error']),
  ]
  const [output, errors] = [captured(process.stdout), captured(process.stderr)]
  const ended: Ended = { status: null, output: '', errors: '' }
  try {
    ended.status = await runProgram(args)
  } finally {
    ended.output = output()
    ended.errors = errors()
    for (const put of undo) put()
    process.umask(mask)
    assign(before)
  }
  return ended
}
