import { type Command, InvalidArgumentError, Option } from 'commander'
import { remotely } from '../../cli/running.ts'
import { month, wholeNumber } from './arguments.ts'
import type { Run } from './statuses.ts'

const count = wholeNumber('Use a whole number.', { min: 1 })

const accountIds = (text: string) => {
  const ids = text.split(',').map((id) => id.trim())
  if (ids.every((id) => /^[0-9a-f]{32}$/.test(id))) return ids
  throw new InvalidArgumentError('Use account IDs, separated by commas.')
}

const sample = (text: string) => (text === 'all' ? Number.POSITIVE_INFINITY : count(text))

const kazooSource = 'CouchDB or BigCouch URL (http://user:password@host:5984), or a folder or file of dumps'

const onlyOne = ['survey', 'follow', 'finish', 'undo']

const mode = (name: string, meaning: string) =>
  new Option(`--${name}`, meaning).conflicts(onlyOne.filter((other) => other !== name))

export const addImport = (program: Command, run: Run) =>
  program
    .command('import')
    .description('import records from another system')
    .command('kazoo')
    .argument('[SOURCE]', kazooSource)
    .usage('SOURCE [--survey|--follow|--finish] | --undo [options]')
    .summary('import everything from Kazoo')
    .description(
      'Imports accounts, users, phones, numbers, balances, plans, call records and settings from Kazoo into an empty store. The server may run: it answers reads and rejects writes with 503 until --finish. Kazoo is only read. After an interruption, run the same command again: the import continues where it stopped',
    )
    .addOption(mode('survey', 'report what would be imported and what needs manual work; write nothing'))
    .addOption(mode('follow', 'after the copy, import changes until Ctrl-C'))
    .addOption(mode('finish', 'import the rest, check the result and enable writes'))
    .addOption(mode('undo', 'restore the store to its state before the import; possible until --finish'))
    .option(
      '--accounts <ID,...>',
      'only these accounts, their ancestors and descendants, and their numbers',
      accountIds,
    )
    .option('--since-month <YYYYMM>', 'skip call records and ledgers of older months', month)
    .option('--without-cdrs', 'skip call records')
    .option('--system-notices', 'import the notification texts of the system, too')
    .option('--allow-missing', 'skip data that is stored elsewhere')
    .option('--accept-differences', 'finish although the check found differences')
    .option('--json', 'print the report as JSON')
    .addHelpText(
      'after',
      '\nThe scope (--accounts, --since-month, --without-cdrs, --system-notices, --allow-missing) is set when an import begins and applies until it is finished or undone. Credentials in SOURCE are neither stored nor printed.\n\nExit status: 0 if nothing is left to do, 2 if the report lists manual work, 1 if the import failed.',
    )
    .action((source: string | undefined, options) =>
      run(async () => (await import('../../import-kazoo/commands/local.ts')).importKazoo(source, options)),
    )

export const addExport = (program: Command, run: Run) =>
  program
    .command('export')
    .description('export records for another system')
    .command('kazoo')
    .argument('<DIR>', 'a new or empty folder')
    .summary('export everything as Kazoo databases')
    .description(
      'Exports accounts, users, phones, numbers, balances, plans, call records, rates and settings as documents of Kazoo 4.3. The server may run. Each file is one database: the body of a POST to DATABASE/_bulk_docs. `import kazoo` reads the folder, too. Documents that an import only preserved are written unchanged. User passwords cannot be exported: users must set a new one',
    )
    .option('--json', 'print {"directory", "databases", "documents", "left_out", "needs_hand"}')
    .addHelpText(
      'after',
      '\nThe folder contains SIP passwords and API keys in clear text: only its owner can read it. For a consistent copy, stop writes before the export. Names of incomplete files end with .part.\n\nExit status: 0 if everything was written, else 1.',
    )
    .action((directory: string, options) =>
      run(async () => (await import('../../import-kazoo/commands/local.ts')).exportKazoo(directory, options)),
    )

export const addCompare = (program: Command, run: Run) =>
  program
    .command('compare')
    .description('compare another system with this server')
    .command('kazoo')
    .argument(
      '<SOURCE>',
      'Kazoo API URL (https://kazoo.example.com:8443); without --account its database or dumps, as for import kazoo',
    )
    .summary('compare Kazoo with Crosspoint and list differences')
    .description(
      'With --account it signs in to the Kazoo API and to a server with the same user and password, and compares their responses for a sample of accounts: records, list order, filters, balances, call records. Without --account it reads Kazoo documents and compares them with the store of this machine: records, list order, numbers, account tree, balances and calls per month. Differences are listed field by field',
    )
    .option('--server <URL>', 'the Crosspoint server', 'http://127.0.0.1:8000')
    .option('--account <NAME>', 'account of the user; it and its sub-accounts are compared')
    .option('--username <USERNAME>', 'admin of that account, with the same password on both systems')
    .option('--code <CODE>', 'code of the second factor')
    .option('--sample <N>', 'number of sub-accounts to compare, or all', sample, 20)
    .option('--seed <TEXT>', 'seed of the random sample', '1')
    .option('--days <N>', 'days of call records and ledgers to compare', count, 31)
    .option(
      '--json',
      'print {"accounts", "of_accounts", "questions": [{"name", "asked", "different"}], "differences", "untold"}, with "disregarded" of APIs and "source", "sums" of databases',
    )
    .addHelpText(
      'after',
      '\nThe password is prompted for or read from standard input; databases need none.\n\nExit status: 0 if both are equal, 2 if they differ, 1 if one could not be read.',
    )
    .action(async (source: string, options) => {
      const { account, username } = options
      if (account === undefined && username === undefined)
        return run(async () =>
          (await import('../../import-kazoo/commands/local.ts')).compareWithDatabase(source, options),
        )
      return remotely(run)(async (terminal) =>
        (await import('../../import-kazoo/commands/compare-apis.ts')).compareKazoo(terminal, source, options),
      )
    })
