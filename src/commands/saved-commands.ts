// What keeps a store safe: copies of it, putting them back, looking whether all is sound.
import { type Command, Option } from 'commander'
import type { Run } from './statuses.ts'

const addBackup = (program: Command, run: Run) =>
  program
    .command('backup')
    .argument('<FILE>', 'takes its name when all of it is on the disk; - is standard output')
    .summary('save the store and its keys to a file')
    .description(
      'saves the store that the environment names to one file, with the keys, the mail in the outbox and the certificates of the data directory, beside a running server or without one. What was acknowledged before it began is in it. PostgreSQL is saved by its own pg_dump',
    )
    .option(
      '--recipient <RECIPIENT>',
      'encrypt it for this recipient (age1...); may be said several times',
      collect,
    )
    .option(
      '--json',
      'print {"file", "bytes", "encrypted", "crosspoint", "engine", "upgrade", "as_of", "counts"}',
    )
    .addHelpText(
      'after',
      '\nWithout --recipient the file holds all secrets in clear, as the data directory does: only its owner can read it.',
    )
    .action((file: string, options) => run(async () => (await import('./backup.ts')).backUp(file, options)))

const collect = (recipient: string, before: string[] = []) => [...before, recipient]

const addRestore = (program: Command, run: Run) =>
  program
    .command('restore')
    .argument('<FILE>', 'a backup; - is standard input')
    .summary('put a backup into an empty place')
    .description(
      'puts a backup into the place that the environment names: all of it or nothing. A store that is not empty, a damaged backup and one of a newer version are refused',
    )
    .option('--identity <FILE>', 'what opens an encrypted backup, as age-keygen writes it')
    .option('--json', 'print {"crosspoint", "engine", "upgrade", "as_of", "counts"}')
    .action((file: string, options) => run(async () => (await import('./backup.ts')).restore(file, options)))

const addVerify = (program: Command, run: Run) =>
  program
    .command('verify')
    .summary('look whether everything in the store is sound')
    .description(
      'looks through the whole store that the environment names, beside a running server or without one: every record can be read and its secrets be opened, every entry of the audit stands in its chain, balances are the sums of their entries, counts are what there is, names have their holders, indices agree with their tables',
    )
    .option(
      '--json',
      'print {"sound", "checks": [{"name", "looked_at", "sound"}], "faults": [{"check", "place", "reason"}], "faults_untold", "left_out"}',
    )
    .addHelpText('after', '\nThe status is 0 when all is sound, else 1: what is not is named.')
    .action((options) => run(async () => (await import('./verify.ts')).verifyStore(options)))

const addMove = (program: Command, run: Run) =>
  program
    .command('move')
    .usage('--to URL | --cancel [--json]')
    .summary('copy the store to the other engine')
    .description(
      'copies the store that the environment names, with its files, to an empty database or data directory on the other engine, and compares both. As soon as the new store has its tables, the old one takes no writes: its servers only read. If it was interrupted, the same command resumes',
    )
    .addOption(
      new Option(
        '--to <URL>',
        'postgres://... or sqlite:DIRECTORY, the data directory of the new store',
      ).conflicts('cancel'),
    )
    .option('--cancel', 'let the old store take writes again; the new one stays as it is')
    .option('--json', 'print {"to", "tables", "rows", "seconds", "sound", "faults"}')
    .addHelpText('after', '\nThe status is 0 when the new store is complete and verified, else 1.')
    .action((options) => run(async () => (await import('./move.ts')).move(options)))

export const addSaved = (program: Command, run: Run) => {
  addBackup(program, run)
  addRestore(program, run)
  addVerify(program, run)
  addMove(program, run)
}
