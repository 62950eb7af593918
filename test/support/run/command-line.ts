// The program as a user runs it: in a separate process, with a folder for its state.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { runHere } from './command-here.ts'
import { eventually } from './eventually.ts'
import { nodeOptions, program } from './program.ts'

export interface Ended {
  status: number | null
  output: string
  errors: string
}

export interface RunningCommand {
  process: ChildProcess
  output(): string
  errors(): string
  ended: Promise<Ended>
}

/** The input of a user, perhaps after reading the output. */
type Typed = string | ((output: string) => string)

export const quoted = (word: string) => `'${word.replaceAll("'", "'\\''")}'`

// util-linux has it; the tests that need a terminal are left out where it is missing.
const terminalProgram = '/usr/bin/script'
export const hasTerminal = existsSync(terminalProgram)

// The test decides about colors: a terminal of a build machine has none.
const colors = { FORCE_COLOR: undefined, NO_COLOR: undefined, CI: undefined }

/** The command line of a person who has never signed in. */
export const openCommandLine = (environment: Record<string, string> = {}) => {
  const folder = mkdtempSync(join(tmpdir(), 'crosspoint-person-'))
  const own = { ...colors, TERM: 'xterm-256color', XDG_CONFIG_HOME: folder, TZ: 'UTC', ...environment }
  const env = { ...process.env, ...own, NODE_OPTIONS: nodeOptions(environment.NODE_OPTIONS) }

  const programs = join(folder, 'programs')

  const follow = (child: ChildProcess): RunningCommand => {
    let output = ''
    let errors = ''
    child.stdout?.setEncoding('utf8').on('data', (chunk) => {
      output += chunk
    })
    child.stderr?.setEncoding('utf8').on('data', (chunk) => {
      errors += chunk
    })
    const ended = once(child, 'close').then(([status]) => ({ status, output, errors }))
    return { process: child, output: () => output, errors: () => errors, ended }
  }

  const start = (...args: string[]) => follow(spawn(process.execPath, [program, ...args], { env }))

  return {
    folder,
    profileFile: (name = 'default') => join(folder, 'crosspoint', 'profiles', `${name}.json`),
    start,

    /** Runs a command without a terminal. */
    run(...args: string[]): Promise<Ended> {
      const command = start(...args)
      command.process.stdin?.end()
      return command.ended
    },

    /** Runs a command in the process of the tests, one at a time. */
    here: (...args: string[]): Promise<Ended> => runHere(own, args),

    /** The same with a text on standard input. */
    hereWith: (input: string, ...args: string[]): Promise<Ended> => runHere(own, args, input),

    /** The same as `run` with a text on standard input. */
    runWith(input: string, ...args: string[]): Promise<Ended> {
      const command = start(...args)
      command.process.stdin?.end(input)
      return command.ended
    },

    /** Result of a shell line in which `crosspoint` is the program. */
    async shell(line: string): Promise<Ended> {
      const define = `crosspoint() { ${quoted(process.execPath)} ${quoted(program)} "$@"; }`
      const child = spawn('bash', ['--norc', '-o', 'pipefail', '-c', `${define}\n${line}`], { env })
      child.stdin.end()
      const closed = once(child, 'close')
      const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr)])
      const [status] = await closed
      return { status, output, errors }
    },

    /** Runs a command at a terminal, and types an answer for each prompt. */
    async atTerminal(args: readonly string[], answers: readonly [string, Typed][] = [], columns = 100) {
      const words = [process.execPath, program, ...args].map(quoted).join(' ')
      const line = `stty cols ${columns} rows 50; ${words}`
      const command = follow(spawn(terminalProgram, ['-qec', line, '/dev/null'], { env }))
      let told = 0
      for (const [question, answer] of answers) {
        const until = await eventually(
          () => command.output().indexOf(question, told),
          (at) => at >= 0,
        )
        told = until + question.length
        command.process.stdin?.write(typeof answer === 'string' ? answer : answer(command.output()))
      }
      return command.ended
    },

    /** Puts `crosspoint` into the PATH of shells at a terminal; returns its file. */
    asProgram() {
      const file = join(programs, 'crosspoint')
      mkdirSync(programs)
      const words = [process.execPath, program].map(quoted).join(' ')
      writeFileSync(file, `#!/bin/sh\nexec ${words} "$@"\n`, { mode: 0o755 })
      return file
    },

    /** A shell at a terminal, without the history and the key bindings of the user that runs the tests. */
    inShell(shell: string) {
      const path = [programs, process.env.PATH].join(delimiter)
      const ofShell = { PATH: path, HISTFILE: '/dev/null', INPUTRC: '/dev/null' }
      const command = follow(
        spawn(terminalProgram, ['-qec', shell, '/dev/null'], { env: { ...env, ...ofShell } }),
      )
      return {
        type: (keys: string) => command.process.stdin?.write(keys),
        shows: (text: string) =>
          eventually(
            () => command.output(),
            (output) => output.includes(text),
          ),
        output: command.output,
        ended: command.ended,
      }
    },

    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}

export type CommandLine = ReturnType<typeof openCommandLine>
