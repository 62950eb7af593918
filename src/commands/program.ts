import { Command, CommanderError } from 'commander'
import { addAccounts } from '../../cli/accounts.ts'
import { addApi } from '../../cli/api.ts'
import { addCdrs } from '../../cli/cdrs.ts'
import { addEvents } from '../../cli/events.ts'
import { addLogin } from '../../cli/login.ts'
import { addNumbers } from '../../cli/numbers.ts'
import { type RunRemote, remotely } from '../../cli/running.ts'
import { addTasks } from '../../cli/tasks.ts'
import { addCompletion } from './completion.ts'
import { addCompare, addExport, addImport } from './kazoo-commands.ts'
import {
  addAccount,
  addAudit,
  addBackup,
  addDemo,
  addDistribute,
  addEdge,
  addMove,
  addOpenApi,
  addRestore,
  addServe,
  addStoredCdrs,
  addStoredNumbers,
  addVerify,
} from './local-commands.ts'
import { type Run, status } from './statuses.ts'

const pathOf = (command: Command): string =>
  command.parent ? `${pathOf(command.parent)} ${command.name()}` : command.name()

/** The usage of each command below, with FILE for a required and [FILE] for an optional argument. */
const usagesOf = (command: Command): string[] => {
  const inside = command.createHelp().visibleCommands(command)
  if (inside.length > 0) return inside.flatMap(usagesOf)
  const own = command.usage().replace(/^\[options\] ?/, '')
  return [`${pathOf(command)} ${own.replaceAll(/<([^>]+)>/g, '$1')}`.trimEnd()]
}

const commandUsage = (command: Command) => {
  const isWhole = command.parent === null
  return isWhole ? 'crosspoint COMMAND' : usagesOf(command).join('\n       ')
}

const addOnStore = (program: Command, run: Run) => {
  addServe(program, run)
  addDemo(program, run)
  addAccount(program, run)
  addAudit(program, run)
  addBackup(program, run)
  addRestore(program, run)
  addVerify(program, run)
  addMove(program, run)
  addDistribute(program, run)
  addEdge(program, run)
  addImport(program, run)
  addExport(program, run)
  addOpenApi(program, run)
}

const addAtServer = (program: Command, run: RunRemote) => {
  addLogin(program, run)
  addAccounts(program, run)
  addTasks(program, run)
  addEvents(program, run)
  addApi(program, run)
}

const addOnBoth = (program: Command, run: Run) => {
  addCompare(program, run)
  const numbers = program
    .command('numbers')
    .description('list, search and buy numbers; import localities and pools')
  addNumbers(numbers.commandsGroup('On a server:'), remotely(run))
  addStoredNumbers(numbers.commandsGroup('On this machine:'), run)
  const cdrs = program.command('cdrs').description('list, export, import, archive and drop call records')
  addCdrs(cdrs.commandsGroup('On a server:'), remotely(run))
  addStoredCdrs(cdrs.commandsGroup('On this machine:'), run)
}

/** Descriptions are half sentences in lists, and sentences in help. */
const commandDescription = (command: Command) => {
  const text = command.description()
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`
}

class Program extends Command {
  override createCommand(name?: string) {
    return new Program(name).helpCommand(false)
  }
}

const createProgram = (run: Run) => {
  const program = new Program('crosspoint')
    .description(
      'Runs a Crosspoint server, maintains its data store, and works with any server over the network',
    )
    .configureHelp({ commandUsage, commandDescription, subcommandTerm: (command) => command.name() })
    .configureOutput({
      outputError: (text, write) => write(text.replace(/^error: /, 'crosspoint: ')),
    })
    .showHelpAfterError()
    .helpOption('--help', 'show help for this command')
    .helpCommand(false)
    .exitOverride()
  addOnStore(program.commandsGroup('On this machine:'), run)
  addAtServer(program.commandsGroup('On a server, local or remote:'), remotely(run))
  addOnBoth(program.commandsGroup('On a server and on this machine:'), run)
  addCompletion(program.commandsGroup('In the shell:'))
  return program
}

/** A group of commands that is called without one of them. */
const groupIn = (program: Command, args: readonly string[]): Command | undefined => {
  let found: Command | undefined = program
  for (const name of args) found = found?.commands.find((command) => command.name() === name)
  return found && found.commands.length > 0 ? found : undefined
}

/** Prints why a command failed; throws faults of the program. */
const failed = async (error: unknown) => {
  const { reasonOf } = await import('./refusals.ts')
  const reason = reasonOf(error)
  if (reason === undefined) throw error
  process.stderr.write(`crosspoint: ${reason}\n`)
  return status.failed
}

export const runProgram = async (args: readonly string[]): Promise<number> => {
  let ended: number = status.done
  const program = createProgram(async (work) => {
    const answer = await work()
    ended = typeof answer === 'number' ? answer : status.done
  })
  const asked = args[0] === 'help' ? [...args.slice(1), '--help'] : args
  try {
    const group = groupIn(program, asked)
    if (group) group.outputHelp()
    else await program.parseAsync(asked, { from: 'user' })
    return ended
  } catch (error) {
    if (!(error instanceof CommanderError)) return await failed(error)
    return error.exitCode === 0 ? status.done : status.misused
  }
}
