import { readdirSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import tab from '@bomb.sh/tab/commander'
import type { Command } from 'commander'
import { profileNames } from './remote/profiles.ts'
import { printable } from './remote/terminal.ts'

const shells = ['bash', 'zsh', 'fish']
const scripts = new URL('completion/', import.meta.url)

// The library's scripts hand the words of the line to `eval`, and file names to `compgen -W`, which runs commands in them.
const scriptFor = (shell: string) => readFileSync(new URL(`crosspoint.${shell}`, scripts), 'utf8')

/** The command that a path such as `accounts list` leads to. */
const commandAt = (program: Command, path: string) =>
  path
    .split(' ')
    .reduce<Command | undefined>(
      (found, name) => found?.commands.find((command) => command.name() === name),
      program,
    )

/** The files and folders that a path which is being typed may become. */
const filesFrom = (typed: string) => {
  const folder = typed.slice(0, typed.lastIndexOf('/') + 1)
  try {
    const entries = readdirSync(folder ? dirname(`${folder}.`) : '.', { withFileTypes: true })
    // A line each: names with line ends in them, or with what a terminal would obey, are left out.
    const named = entries.filter(({ name }) => printable(name) === name)
    return named.map((entry) => `${folder}${entry.name}${entry.isDirectory() ? '/' : ''}`)
  } catch {
    // Nothing can be offered of a folder that is not there.
    return []
  }
}

/** `completion SHELL` prints what a shell has to read; the shell then asks `complete`, which is not shown. */
export const addCompletion = (program: Command) => {
  const completion = tab(program, { completionCommandName: 'completion' })
  const printing = commandAt(program, 'completion')
  printing?.registeredArguments[0]?.choices(shells)
  printing
    ?.description('print what a shell reads to complete commands and options')
    .action((shell: string) => {
      process.stdout.write(scriptFor(shell))
    })
  for (const [path, offered] of completion.commands) {
    // A line has no room for more.
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
