import { type Command, InvalidArgumentError, Option } from 'commander'
import { remotely } from '../../cli/running.ts'
import { month, wholeNumber } from './arguments.ts'
import type { Run } from './statuses.ts'

const count = wholeNumber('A whole number is wanted.', { min: 1 })

const accountIds = (text: string) => {
  const ids = text.split(',').map((id) => id.trim())
  if (ids.every((id) => /^[0-9a-f]{32}$/.test(id))) return ids
  throw new InvalidArgumentError('Accounts are named by their ids, with commas between.')
}

const sample = (text: string) => (text === 'all' ? Number.POSITIVE_INFINITY : count(text))

const kazooSource =
  'the address of a CouchDB or BigCouch (http://user:password@host:5984), or a folder or file of dumps'

const onlyOne = ['survey', 'follow', 'finish', 'undo']

const mode = (name: string, meaning: string) =>
  new Option(`--${name}`, meaning).conflicts(onlyOne.filter((other) => other !== name))

export const addImport = (program: Command, run: Run) =>
  program
    .command('import')
    .description('take over the records of another system')
    .command('kazoo')
    .argument('[SOURCE]', kazooSource)
    .usage('SOURCE [--survey|--follow|--finish] | --undo [options]')
    .summary('take over everything of a Kazoo')
    .description(
      'takes over accounts, people, phones, numbers, money, plans, call records and settings of a Kazoo into a store that holds nothing but a first start, beside a running server, whose reads work and whose other writes are refused with 503 until --finish. It only reads there. An import that was ended, however, goes on where it was when it is said again; what was taken over already is left as it is',
    )
    .addOption(mode('survey', 'tell what would be done, and what waits for a person; nothing is written'))
    .addOption(mode('follow', 'after the copy take over what changes there, until Ctrl-C'))
    .addOption(mode('finish', 'take over what is left, check it, and open the store to everybody'))
    .addOption(mode('undo', 'put the store back to what it was before the import; possible until --finish'))
    .option(
      '--accounts <ID,...>',
      'only these accounts, with everybody below and above them, and the numbers that are theirs',
      accountIds,
    )
    .option('--since-month <YYYYMM>', 'leave older months out: call records, ledgers', month)
    .option('--without-cdrs', 'leave call records out')
    .option('--system-notices', 'take over how the system words its notices, not only how accounts do')
    .option('--allow-missing', 'go on although some of it lies elsewhere, and leave that out')
    .option('--accept-differences', 'finish although what is stored differs from what was read')
    .option('--json', 'print the report as JSON')
    .addHelpText(
      'after',
      '\nWhat is left out or taken along (--accounts, --since-month, --without-cdrs, --system-notices, --allow-missing) is said when an import begins, and holds until it is finished or undone.\n\nThe status is 0 when nothing is left for a person, 2 when something is, which the report names, and 1 when it could not be done. Of credentials in SOURCE nothing is stored or printed.',
    )
    .action((source: string | undefined, options) =>
      run(async () => (await import('../../import-kazoo/commands/import.ts')).importKazoo(source, options)),
    )

export const addExport = (program: Command, run: Run) =>
  program
    .command('export')
    .description('write the records as another system takes them')
    .command('kazoo')
    .argument('<DIR>', 'a folder that is made, or that is empty')
    .summary('write everything as the databases of a Kazoo')
    .description(
      'writes accounts, people, phones, numbers, money, plans, call records, rates and settings as the documents of a Kazoo 4.3, beside a running server: a file for each of its databases, whose content is the body of a POST to DATABASE/_bulk_docs. import kazoo reads the folder as well. What came from a Kazoo and was only kept goes out as it came. Passwords of people cannot be had: they come without, and have to choose one',
    )
    .option('--json', 'print {"directory", "databases", "documents", "left_out", "needs_hand"}')
    .addHelpText(
      'after',
      '\nThe folder is one of credentials: passwords of phones and API keys stand in it in clear. Nobody but its owner may read it. While the server runs it is not of one moment: for a copy that is, end the writes before. The status is 0 when all is written, and 1 when it could not be done: what is not whole has names that end with .part.',
    )
    .action((directory: string, options) =>
      run(async () =>
        (await import('../../import-kazoo/commands/export.ts')).exportKazoo(directory, options),
      ),
    )

export const addCompare = (program: Command, run: Run) =>
  program
    .command('compare')
    .description('hold another system against this one')
    .command('kazoo')
    .argument(
      '<SOURCE>',
      'the address of its API (https://kazoo.example.com:8443); without --account its database or dumps, as import kazoo reads them',
    )
    .summary('ask a Kazoo and Crosspoint the same, and tell what differs')
    .description(
      'with --account it signs in at the API of a Kazoo and at a server with the same name and password, and asks both the same about a sample of accounts: records, lists in their order, filters, balances, call records. Without, it reads the documents of a Kazoo and holds what they come to here against the store of this machine: records, lists in their order, numbers, the tree, money by the month, calls by the month. What differs is told field by field',
    )
    .option('--server <URL>', 'the server that is held against it', 'http://127.0.0.1:8000')
    .option('--account <NAME>', 'whose user signs in: this account and those below are compared')
    .option('--username <USERNAME>', 'an admin of it, who has the same password on both sides')
    .option('--code <CODE>', 'of a second factor')
    .option('--sample <N>', 'so many of the accounts below, or all', sample, 20)
    .option('--seed <TEXT>', 'another one draws another sample', '1')
    .option('--days <N>', 'so many days of call records and ledgers', count, 31)
    .option(
      '--json',
      'print {"accounts", "of_accounts", "questions": [{"name", "asked", "different"}], "differences", "untold"}, with "disregarded" of APIs and "source", "sums" of databases',
    )
    .addHelpText(
      'after',
      '\nThe password is read from standard input, or asked for; a database is read without one. The status is 0 when both say the same, 2 when not, and 1 when one of them could not be asked.',
    )
    .action(async (source: string, options) => {
      const { account, username } = options
      if (account === undefined && username === undefined)
        return run(async () =>
          (await import('../../import-kazoo/commands/compare-database.ts')).compareWithDatabase(
            source,
            options,
          ),
        )
      return remotely(run)(async (terminal) =>
        (await import('../../import-kazoo/commands/compare-apis.ts')).compareKazoo(terminal, source, options),
      )
    })
