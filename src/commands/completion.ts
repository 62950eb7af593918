import { readdirSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import tab from '@bomb.sh/tab/commander'
import type { Command } from 'commander'
import { profileNames } from '../../cli/profiles.ts'
import { printable } from '../../cli/terminal.ts'

const shells = ['bash', 'zsh', 'fish']
const scripts = new URL('completion/', import.meta.url)

// The library's scripts pass words to `eval` and `compgen -W`, which would run commands in them.
const scriptFor = (shell: string) => readFileSync(new URL(`crosspoint.${shell}`, scripts), 'utf8')

/** `path` is such as `accounts list`. */
const commandAt = (program: Command, path: string) =>
  path
    .split(' ')
    .reduce<Command | undefined>(
      (found, name) => found?.commands.find((command) => command.name() === name),
      program,
    )

const filesFrom = (typed: string) => {
  const folder = typed.slice(0, typed.lastIndexOf('/') + 1)
  try {
    const entries = readdirSync(folder ? dirname(`${folder}.`) : '.', { withFileTypes: true })
    // Names with line ends or control characters are left out.
    const named = entries.filter(({ name }) => printable(name) === name)
    return named.map((entry) => `${folder}${entry.name}${entry.isDirectory() ? '/' : ''}`)
  } catch {
    // The directory does not exist.
    return []
  }
}

/** `completion SHELL` prints a script, which calls the hidden command `complete`. */
export const addCompletion = (program: Command) => {
  const completion = tab(program, { completionCommandName: 'completion' })
  const printing = commandAt(program, 'completion')
  printing?.registeredArguments[0]?.choices(shells)
  printing?.description('print the completion script for a shell').action((shell: string) => {
    process.stdout.write(scriptFor(shell))
  })
  for (const [path, offered] of completion.commands) {
    // Completions have one line.
    offered.description = commandAt(program, path)?.summary() || offered.description
    const shell = offered.arguments.get('shell')
    if (shell)
      shell.handler = (offer) => {
        for (const name of shells) offer(name, '')
      }
    const file = offered.arguments.get('FILE')
    if (file)
      file.handler = (offer) => {
        for (const name of filesFrom(process.argv.at(-1) ?? '')) offer(name, '')
      }
    const profile = offered.options.get('profile')
    if (profile)
      profile.handler = (offer) => {
        for (const name of profileNames()) offer(name, '')
      }
  }
}
