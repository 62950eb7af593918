// Commands on the store of this machine. Each is loaded when it runs.
import { type Command, InvalidArgumentError, Option } from 'commander'
import { month, wholeNumber } from './arguments.ts'
import type { Run } from './statuses.ts'

export const addServe = (program: Command, run: Run) =>
  program
    .command('serve')
    .description('run the server in the foreground; serve --help lists its settings')
    .option('--new', 'start an empty store although the data directory has the key of an older one')
    .action(({ new: isNew }: { new?: boolean }) =>
      run(async () => (await import('./serve.ts')).serve.run(isNew ? ['--new'] : [])),
    )

const usualCalls = 50_000
const countOfCalls = wholeNumber('A whole number up to 5,000,000 is wanted.', { max: 5_000_000 })
export const addDemo = (program: Command, run: Run) =>
  program
    .command('demo')
    .summary('fill a new store with a made-up company, to have something to see')
    .description(
      'fills the store that the environment names with a made-up telephone company: two resellers, their customers with people, phones and numbers, plans, money and invoices, tasks, alerts, and the calls of 60 days. It works beside a running server or without one; a store that is new gets its master account first',
    )
    .option('--calls <N>', 'so many call detail records', countOfCalls, usualCalls)
    .option('--password <PASSWORD>', 'of everybody who can sign in; without it each has one of their own')
    .option('--json', 'print {"accounts", "users", "devices", "numbers", "calls", "sign_ins"}')
    .addHelpText(
      'after',
      '\nWhoever can sign in is printed at the end, with passwords that are stored nowhere. A store that has accounts below its master account is refused, and nothing is changed: the status is 1. A demo that was interrupted is begun again in an empty store.',
    )
    .action((options) => run(async () => (await import('../../demo/fill.ts')).fillWithDemo(options)))

const adminActions = {
  reset:
    'give an admin a new password, which is printed once, and enable the user. Sessions, second factors, passkeys and mailed links of the user end; what was locked by failed sign-ins is open',
  unlock:
    'let an admin sign in with the password that there is: lift the lock after failed sign-ins, enable the user',
  create: 'make a further admin, with a password that is printed once',
} as const

type AdminAction = keyof typeof adminActions

const isAdminAction = (name: string): name is AdminAction => Object.hasOwn(adminActions, name)

export const addAccount = (program: Command, run: Run) => {
  const admin = program
    .command('account')
    .description('let an admin of the master account in again')
    .command('admin')
    .usage('--reset USERNAME | --unlock USERNAME | --create USERNAME [--json]')
    .description('lets somebody into the master account again, beside a running server or without one')
    .option('--json', 'print {"username", "password"}; {"username"} after --unlock')
    .addHelpText(
      'after',
      "\nThe status is 1, and nothing is changed, when there is no such admin, or when the new one's name is taken.",
    )
  for (const [name, meaning] of Object.entries(adminActions)) {
    const others = Object.keys(adminActions).filter((other) => other !== name)
    admin.addOption(new Option(`--${name} <USERNAME>`, meaning).conflicts(others))
  }
  admin.action((options: Partial<Record<AdminAction, string>> & { json?: boolean }) => {
    const [asked] = Object.entries(options).filter(([name]) => isAdminAction(name))
    const [action, username] = asked ?? []
    if (!action || !isAdminAction(action) || typeof username !== 'string' || username === '')
      return admin.error('error: one of --reset, --unlock and --create has to be said, with a name')
    return run(async () => {
      const { changeAdmin } = await import('./account.ts')
      return changeAdmin(action, username, options.json === true)
    })
  })
}

export const addAudit = (program: Command, run: Run) =>
  program
    .command('audit')
    .description('find what was altered in the audit')
    .command('verify')
    .summary('hold every entry against the chain of its account')
    .description(
      'holds every entry of the audit against the chain of its account, beside a running server or without one: an entry that was altered, removed, put in or moved is found, and what retention removed is known by the line that it left',
    )
    .option(
      '--json',
      'print {"sound", "accounts", "entries", "faults": [{"account_id", "entry_id", "sequence", "reason"}]}',
    )
    .addHelpText(
      'after',
      '\nThe status is 0 when all chains are sound, and 1 when one is not: each such account is told with its first bad entry.',
    )
    .action((options) => run(async () => (await import('./audit.ts')).verifyAudit(options)))

export const addBackup = (program: Command, run: Run) =>
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

export const addRestore = (program: Command, run: Run) =>
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

export const addVerify = (program: Command, run: Run) =>
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

export const addMove = (program: Command, run: Run) =>
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

export const addDistribute = (program: Command, run: Run) =>
  program
    .command('distribute')
    .summary('lay what grows with use on the workers of Citus')
    .description(
      'distributes the tables of the store that the environment names over the workers of its Citus: call records, their sums, files of tasks and what was told by mail and webhook, by account; all other tables stay at the coordinator. The servers have to be stopped. It may be said again: after it was interrupted, and after each upgrade',
    )
    .option('--json', 'print {"tables": [{"table", "outcome"}]}')
    .addHelpText(
      'after',
      '\nThe status is 1, and nothing is changed, when the store is not on Citus, has no workers, or is in use.',
    )
    .action((options) => run(async () => (await import('./distribute.ts')).distribute(options)))

export const addOpenApi = (program: Command, run: Run) =>
  program
    .command('openapi')
    .description('print the OpenAPI 3.1 document that a running server has at /openapi.json')
    .action(() => run(async () => (await import('./openapi.ts')).printOpenApi()))

const portIn = wholeNumber('A port is wanted.', { min: 1, max: 65_534 })
const minutesIn = wholeNumber('Minutes up to a day are wanted.', { max: 1440 })

const tlsFilesIn = (text: string) => {
  const files = text.split(',')
  if (files.length === 2 && !files.includes('')) return files
  throw new InvalidArgumentError('Two files are wanted: CERTIFICATE,KEY.')
}

const originsIn = (text: string) => {
  if (text === '*' || text.split(',').every((origin) => URL.parse(origin)?.origin === origin)) return text
  throw new InvalidArgumentError('Origins are written as https://phone.example.com, separated by commas.')
}

export const addEdge = (program: Command, run: Run) =>
  program
    .command('edge')
    .description('what a SIP edge is set up with')
    .command('kamailio')
    .usage('--write DIR --key-file FILE [options]')
    .summary('write the configuration of a Kamailio that asks this server')
    .description(
      "writes the configuration of Debian's Kamailio for a host: a registrar and proxy for all realms, which asks the server who may pass. Every value stands in values.cfg",
    )
    .requiredOption('--write <DIR>', 'where to, /etc/kamailio/crosspoint as a rule')
    .option('--server <URL>', 'where the edge reaches the server', 'http://127.0.0.1:8000')
    .option('--key-file <FILE>', 'holds an API key of the master account')
    .addOption(
      new Option('--key <KEY>', 'the key itself; others see it in the list of processes').conflicts(
        'keyFile',
      ),
    )
    .option(
      '--address <ADDRESS>',
      'where phones reach the edge; the first address of this machine unless it is said',
    )
    .option('--advertise <ADDRESS>', 'what phones see of it, behind a NAT')
    .option('--port <PORT>', 'of UDP and TCP; TLS has the next one', portIn, 5060)
    .option('--tls <CERTIFICATE,KEY>', 'two files in PEM: listen for TLS as well', tlsFilesIn)
    .option('--websocket <PORT>', 'listen for browsers as well; wss with --tls', portIn)
    .option('--websocket-origins <ORIGINS>', 'pages that may connect, separated by commas', originsIn, '*')
    .option('--rpc-address <ADDRESS>', 'private address at which the server asks the edge', '127.0.0.1')
    .option('--rpc-port <PORT>', 'its port', portIn, 5080)
    .option('--rpc-networks <CIDRS>', 'whom it answers, separated by commas', '127.0.0.0/8')
    .option('--rpc-secret <SECRET>', 'made up unless it is said')
    .option('--topology-key <KEY>', 'the same for all edges of a cluster; made up unless it is said')
    .option('--outage-minutes <N>', 'so long known phones pass while the server is away', minutesIn, 15)
    .option('--state-directory <DIR>', 'where it keeps registrations, calls and reports', '/var/lib/kamailio')
    .option('--force', 'write files anew that are there already')
    .option('--json', 'print {"folder", "files", "owner", "needs_owner", "rpc_url"}')
    .addHelpText(
      'after',
      '\nvalues.cfg holds secrets: only its owner can read it, and that must be the user kamailio. Root gives it to that user if Kamailio is installed. The status is 1, and nothing is written, when one of the files is there already.',
    )
    .action((options) => run(async () => (await import('./edge.ts')).writeKamailio(options)))

export const addStoredCdrs = (cdrs: Command, run: Run) => {
  cdrs
    .command('import')
    .argument('<FILE>', 'one JSON object a line; it may be gzipped')
    .summary('store call detail records from a file')
    .description(
      'stores the call detail records of a file. A record that is stored already stays as it is, so an import can be repeated. Lines that cannot be used are told by number and reason and left out; the status is then 1. Calls that are paid by the minute are taken from the ledger of their account',
    )
    .option('--paid-elsewhere', 'they were paid before they came here: no ledger is touched')
    .action((file: string, options) => run(async () => (await import('./cdrs.ts')).importFile(file, options)))
  cdrs
    .command('archive')
    .argument('<YYYYMM>', 'the month', month)
    .argument('<FILE>', 'new; gzipped when its name ends in .gz')
    .description('write every record of a month to a file that import reads back')
    .action((of: number, file: string) => run(async () => (await import('./cdrs.ts')).archiveMonth(of, file)))
  cdrs
    .command('drop')
    .argument('<YYYYMM>', 'the month', month)
    .usage('YYYYMM --yes')
    .description('remove a month with all its records at once; its statistics stay')
    .option('--yes', 'they are gone for good, and that is wanted')
    .action((of: number, options) => run(async () => (await import('./cdrs.ts')).dropMonth(of, options)))
}

export const addStoredNumbers = (numbers: Command, run: Run) => {
  const change = async (...asked: Parameters<typeof import('./numbers.ts')['changeNumbers']>) =>
    (await import('./numbers.ts')).changeNumbers(...asked)
  const told = '\nLines that cannot be used are told by number and reason and left out; the status is then 1.'

  numbers
    .command('localities')
    .description('where numbers lie')
    .command('import')
    .argument('<FILE>', 'CSV')
    .summary('put a file in the place of all localities')
    .description(
      'puts the rows of a CSV in the place of all localities that were there. Its header is prefix,country,region,city,rate_center,lata,latitude,longitude; a prefix is national digits (415555) or the beginning of an E.164 number (+1415555)',
    )
    .addHelpText('after', told)
    .action((file: string) => run(() => change('localities import', file)))

  const pool = numbers
    .command('pool')
    .description('the stock of accounts, from which they and those below them may take')
  pool
    .command('import')
    .argument('<FILE>', 'CSV with the header e164,account_id')
    .summary('add numbers to the stock of accounts')
    .description(
      'adds numbers to the stock of accounts; the header is e164,account_id, if wanted with carrier_module (managed, which is the default, or inum)',
    )
    .addHelpText('after', told)
    .action((file: string) => run(() => change('pool import', file)))
  pool
    .command('remove')
    .argument('<FILE>', 'CSV with the header e164,account_id')
    .summary('take numbers out of the stock again')
    .description('takes numbers out of the stock again; numbers in use stay in use')
    .addHelpText('after', told)
    .action((file: string) => run(() => change('pool remove', file)))
}
