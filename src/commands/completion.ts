import { readdirSync } from 'node:fs'
import { dirname } from 'node:path'
import tab from '@bomb.sh/tab/commander'
import type { Command } from 'commander'
import { profileNames } from './remote/profiles.ts'

// The library's script counts on the package bash-completion, which many machines do not have.
const withoutBashCompletion = `type _get_comp_words_by_ref >/dev/null 2>&1 || _get_comp_words_by_ref() {
    words=("\${COMP_WORDS[@]}")
    cword=$COMP_CWORD
    cur=\${words[cword]}
    prev=\${words[cword - 1]}
}
`

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
    return entries.map((entry) => `${folder}${entry.name}${entry.isDirectory() ? '/' : ''}`)
  } catch {
    // Nothing can be offered of a folder that is not there.
    return []
  }
}

/** `completion SHELL` prints what a shell has to read; the shell then asks `complete`, which is not shown. */
export const addCompletion = (program: Command) => {
  const completion = tab(program, { completionCommandName: 'completion' })
  commandAt(program, 'completion')
    ?.description('print what a shell reads to complete commands and options')
    .hook('preAction', ({ args: [shell] }) => {
      if (shell === 'bash') process.stdout.write(withoutBashCompletion)
    })
  for (const [path, offered] of completion.commands) {
    // A line has no room for more.
    offered.description = commandAt(program, path)?.summary() || offered.description
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
