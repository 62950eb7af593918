// Runs commands in the process of the tests. A process of its own takes half a second of processor time to start.
import { runProgram } from '../../src/commands/program.ts'
import type { Ended } from './command-line.ts'

type Write = typeof process.stdout.write

/** Takes what is written to a stream; answers with what puts the stream back and returns the text. */
const captured = (stream: NodeJS.WriteStream) => {
  const write = stream.write
  let text = ''
  stream.write = ((piece: string | Uint8Array) => {
    text += piece
    return true
  }) as Write
  return () => {
    stream.write = write
    return text
  }
}

/**
 * Runs a command line with these environment variables, as `crosspoint` does. Commands run one after the other, because the
 * output and the environment belong to the process.
 */
export const runHere = async (
  environment: Readonly<Record<string, string>>,
  args: readonly string[],
): Promise<Ended> => {
  const before = Object.keys(environment).map((name) => [name, process.env[name]] as const)
  Object.assign(process.env, environment)
  const mask = process.umask()
  const [output, errors] = [captured(process.stdout), captured(process.stderr)]
  const ended: Ended = { status: null, output: '', errors: '' }
  try {
    ended.status = await runProgram(args)
  } finally {
    ended.output = output()
    ended.errors = errors()
    process.umask(mask)
    for (const [name, value] of before)
      if (value === undefined) delete process.env[name]
      else process.env[name] = value
  }
  return ended
}
