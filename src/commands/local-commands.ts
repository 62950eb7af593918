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
const countOfCalls = wholeNumber('Use a whole number up to 5,000,000.', { max: 5_000_000 })
export const addDemo = (program: Command, run: Run) =>
  program
    .command('demo')
    .summary('fill a new store with sample data')
    .description(
      'Fills the configured store with a sample telephone company: two resellers and their customers with users, phones, numbers, plans, payments, invoices, tasks, alerts and the calls of 60 days. The server may run. A new store gets its master account first',
    )
    .option('--calls <N>', 'number of call detail records', countOfCalls, usualCalls)
    .option('--password <PASSWORD>', 'one password for all sample users; without it each gets its own')
    .option('--json', 'print {"accounts", "users", "devices", "numbers", "calls", "sign_ins"}')
    .addHelpText(
      'after',
      '\nThe users and their passwords are printed at the end and shown only once. A store whose master account has sub-accounts is refused and left unchanged. After an interruption, start again with an empty store.\n\nExit status: 0 if the store was filled, else 1.',
    )
    .action((options) => run(async () => (await import('../../demo/fill.ts')).fillWithDemo(options)))

const adminActions = {
  reset:
    'set a new password, print it once, and enable the user. Ends sessions, removes second factors, passkeys and mailed links, and lifts the lock after failed sign-ins',
  unlock: 'lift the lock after failed sign-ins and enable the user; the password stays',
  create: 'create an admin and print the password once',
} as const

type AdminAction = keyof typeof adminActions

const isAdminAction = (name: string): name is AdminAction => Object.hasOwn(adminActions, name)

export const addAccount = (program: Command, run: Run) => {
  const admin = program
    .command('account')
    .description('reset, unlock or create a master account admin')
    .command('admin')
    .usage('--reset USERNAME | --unlock USERNAME | --create USERNAME [--json]')
    .description('Resets, unlocks or creates an admin of the master account. The server may run')
    .option('--json', 'print {"username", "password"}; {"username"} after --unlock')
    .addHelpText(
      'after',
      '\nExit status: 1 if the admin does not exist or the new name is taken; nothing is changed then.',
    )
  for (const [name, meaning] of Object.entries(adminActions)) {
    const others = Object.keys(adminActions).filter((other) => other !== name)
    admin.addOption(new Option(`--${name} <USERNAME>`, meaning).conflicts(others))
  }
  admin.action((options: Partial<Record<AdminAction, string>> & { json?: boolean }) => {
    const [asked] = Object.entries(options).filter(([name]) => isAdminAction(name))
    const [action, username] = asked ?? []
    if (!action || !isAdminAction(action) || typeof username !== 'string' || username === '')
      return admin.error('error: one of --reset, --unlock and --create is required, with a user name')
    return run(async () => {
      const { changeAdmin } = await import('./account.ts')
      return changeAdmin(action, username, options.json === true)
    })
  })
}

export const addAudit = (program: Command, run: Run) =>
  program
    .command('audit')
    .description('verify the audit log')
    .command('verify')
    .summary('verify the hash chain of each account')
    .description(
      'Verifies every audit entry against the hash chain of its account and reports altered, removed, inserted or moved entries. Entries removed by retention are known by the record it left. The server may run',
    )
    .option(
      '--json',
      'print {"sound", "accounts", "entries", "faults": [{"account_id", "entry_id", "sequence", "reason"}]}',
    )
    .addHelpText(
      'after',
      '\nExit status: 0 if all chains are intact, else 1; the first bad entry of each account is listed.',
    )
    .action((options) => run(async () => (await import('./audit.ts')).verifyAudit(options)))

export const addBackup = (program: Command, run: Run) =>
  program
    .command('backup')
    .argument('<FILE>', 'gets its name when it is complete on disk; - is standard output')
    .summary('back up the store and its keys to a file')
    .description(
      'Writes the configured store to one file, with keys, queued mail and certificates of the data directory. The server may run. Everything acknowledged before the start is included. PostgreSQL is saved by its own pg_dump',
    )
    .option('--recipient <RECIPIENT>', 'encrypt for this recipient (age1...); repeatable', collect)
    .option(
      '--json',
      'print {"file", "bytes", "encrypted", "crosspoint", "engine", "upgrade", "as_of", "counts"}',
    )
    .addHelpText(
      'after',
      '\nWithout --recipient the file contains all secrets in clear text: only its owner can read it.',
    )
    .action((file: string, options) => run(async () => (await import('./backup.ts')).backUp(file, options)))

const collect = (recipient: string, before: string[] = []) => [...before, recipient]

export const addRestore = (program: Command, run: Run) =>
  program
    .command('restore')
    .argument('<FILE>', 'a backup; - is standard input')
    .summary('restore a backup to an empty store')
    .description(
      'Restores a backup to the configured store, completely or not at all. A store that is not empty, a damaged backup and a backup of a newer version are refused',
    )
    .option('--identity <FILE>', 'key file of an encrypted backup, as age-keygen writes it')
    .option('--json', 'print {"crosspoint", "engine", "upgrade", "as_of", "counts"}')
    .action((file: string, options) => run(async () => (await import('./backup.ts')).restore(file, options)))

export const addVerify = (program: Command, run: Run) =>
  program
    .command('verify')
    .summary('check the data store for inconsistencies')
    .description(
      'Checks the whole configured store: records and secrets can be read, audit chains are intact, balances equal the sums of their entries, counters and unique names are right, indexes match their tables. The server may run',
    )
    .option(
      '--json',
      'print {"sound", "checks": [{"name", "looked_at", "sound"}], "faults": [{"check", "place", "reason"}], "faults_untold", "left_out"}',
    )
    .addHelpText('after', '\nExit status: 0 if no fault was found, else 1; faults are listed.')
    .action((options) => run(async () => (await import('./verify.ts')).verifyStore(options)))

export const addMove = (program: Command, run: Run) =>
  program
    .command('move')
    .usage('--to URL | --cancel [--json]')
    .summary('copy the store to the other engine')
    .description(
      'Copies the configured store, with its files, to an empty database or data directory on the other engine, and compares both. Once the new store has its tables, the old one takes no writes: its servers only read. After an interruption, run the same command again',
    )
    .addOption(
      new Option(
        '--to <URL>',
        'postgres://... or sqlite:DIRECTORY, the data directory of the new store',
      ).conflicts('cancel'),
    )
    .option('--cancel', 'let the old store take writes again; the new one stays as it is')
    .option('--json', 'print {"to", "tables", "rows", "seconds", "sound", "faults"}')
    .addHelpText('after', '\nExit status: 0 if the new store is complete and verified, else 1.')
    .action((options) => run(async () => (await import('./move.ts')).move(options)))

export const addDistribute = (program: Command, run: Run) =>
  program
    .command('distribute')
    .summary('distribute large tables across Citus workers')
    .description(
      'Distributes tables of the configured store across the workers of its Citus cluster, by account: call records and their sums, task files, sent mail and webhook deliveries. Other tables stay on the coordinator. Stop the servers first. Run it again after an interruption and after each upgrade',
    )
    .option('--json', 'print {"tables": [{"table", "outcome"}]}')
    .addHelpText(
      'after',
      '\nExit status: 1 if the store is not on Citus, has no workers or is in use; nothing is changed then.',
    )
    .action((options) => run(async () => (await import('./distribute.ts')).distribute(options)))

export const addOpenApi = (program: Command, run: Run) =>
  program
    .command('openapi')
    .description('print the OpenAPI 3.1 document that a server has at /openapi.json')
    .action(() => run(async () => (await import('./openapi.ts')).printOpenApi()))

const portIn = wholeNumber('PORT must be a number from 1 to 65534.', { min: 1, max: 65_534 })
const minutesIn = wholeNumber('Use minutes, at most 1440.', { max: 1440 })

const tlsFilesIn = (text: string) => {
  const files = text.split(',')
  if (files.length === 2 && !files.includes('')) return files
  throw new InvalidArgumentError('Name two files: CERTIFICATE,KEY.')
}

const originsIn = (text: string) => {
  if (text === '*' || text.split(',').every((origin) => URL.parse(origin)?.origin === origin)) return text
  throw new InvalidArgumentError('Write origins as https://phone.example.com, separated by commas.')
}

export const addEdge = (program: Command, run: Run) =>
  program
    .command('edge')
    .description('set up a SIP edge')
    .command('kamailio')
    .usage('--write DIR --key-file FILE [options]')
    .summary('write the Kamailio configuration of an edge')
    .description(
      "Writes the configuration of Debian's Kamailio for a host: a registrar and proxy for all realms that asks this server to authorize phones and calls. All values are in values.cfg",
    )
    .requiredOption('--write <DIR>', 'target folder, usually /etc/kamailio/crosspoint')
    .option('--server <URL>', 'server URL as the edge reaches it', 'http://127.0.0.1:8000')
    .option('--key-file <FILE>', 'file with an API key of the master account')
    .addOption(
      new Option('--key <KEY>', 'the key itself; other users can see it in the process list').conflicts(
        'keyFile',
      ),
    )
    .option('--address <ADDRESS>', 'address that phones use; default: the first address of this machine')
    .option('--advertise <ADDRESS>', 'public address of the edge behind NAT')
    .option('--port <PORT>', 'UDP and TCP port; TLS uses the next one', portIn, 5060)
    .option('--tls <CERTIFICATE,KEY>', 'PEM files: listen for TLS, too', tlsFilesIn)
    .option('--websocket <PORT>', 'listen for browsers; wss with --tls', portIn)
    .option(
      '--websocket-origins <ORIGINS>',
      'web origins that may connect, separated by commas',
      originsIn,
      '*',
    )
    .option('--rpc-address <ADDRESS>', 'private address for requests of the server', '127.0.0.1')
    .option('--rpc-port <PORT>', 'port of that address', portIn, 5080)
    .option(
      '--rpc-networks <CIDRS>',
      'networks that may send these requests, separated by commas',
      '127.0.0.0/8',
    )
    .option('--rpc-secret <SECRET>', 'generated if omitted')
    .option('--topology-key <KEY>', 'the same for all edges of a cluster; generated if omitted')
    .option(
      '--outage-minutes <N>',
      'minutes that known phones stay authorized while the server is unreachable',
      minutesIn,
      15,
    )
    .option('--state-directory <DIR>', 'folder for registrations, calls and reports', '/var/lib/kamailio')
    .option('--force', 'overwrite existing files')
    .option('--json', 'print {"folder", "files", "owner", "needs_owner", "rpc_url"}')
    .addHelpText(
      'after',
      '\nvalues.cfg contains secrets: only its owner can read it, which must be the user kamailio. Run as root, the command sets that owner if Kamailio is installed.\n\nExit status: 1 if one of the files exists already; nothing is written then.',
    )
    .action((options) => run(async () => (await import('./edge.ts')).writeKamailio(options)))

export const addStoredCdrs = (cdrs: Command, run: Run) => {
  cdrs
    .command('import')
    .argument('<FILE>', 'one JSON object per line; may be gzipped')
    .summary('import call detail records from a file')
    .description(
      'Imports the call detail records of a file. Records that are already stored stay unchanged, so an import can be repeated. Per-minute calls are charged to the ledger of their account. Invalid lines are listed with number and reason and skipped; the exit status is then 1',
    )
    .option('--paid-elsewhere', 'the calls were charged elsewhere: charge no ledger')
    .action((file: string, options) => run(async () => (await import('./cdrs.ts')).importFile(file, options)))
  cdrs
    .command('archive')
    .argument('<YYYYMM>', 'the month', month)
    .argument('<FILE>', 'new file; gzipped if its name ends in .gz')
    .description('write all records of a month to a file that import can read')
    .action((of: number, file: string) => run(async () => (await import('./cdrs.ts')).archiveMonth(of, file)))
  cdrs
    .command('drop')
    .argument('<YYYYMM>', 'the month', month)
    .usage('YYYYMM --yes')
    .description('delete all records of a month; its statistics stay')
    .option('--yes', 'confirm the permanent deletion')
    .action((of: number, options) => run(async () => (await import('./cdrs.ts')).dropMonth(of, options)))
}

export const addStoredNumbers = (numbers: Command, run: Run) => {
  const change = async (...asked: Parameters<typeof import('./numbers.ts')['changeNumbers']>) =>
    (await import('./numbers.ts')).changeNumbers(...asked)
  const told = '\nInvalid lines are listed with number and reason and skipped; the exit status is then 1.'

  numbers
    .command('localities')
    .description('regions and cities of number prefixes')
    .command('import')
    .argument('<FILE>', 'CSV')
    .summary('replace all localities by a file')
    .description(
      'Replaces all localities by the rows of a CSV file. Header: prefix,country,region,city,rate_center,lata,latitude,longitude. A prefix is national digits (415555) or the beginning of an E.164 number (+1415555)',
    )
    .addHelpText('after', told)
    .action((file: string) => run(() => change('localities import', file)))

  const pool = numbers
    .command('pool')
    .description('numbers in stock that an account and its sub-accounts can take')
  pool
    .command('import')
    .argument('<FILE>', 'CSV with the header e164,account_id')
    .summary('add numbers to the stock of accounts')
    .description(
      'Adds numbers to the stock of accounts. Header: e164,account_id and optionally carrier_module (managed, the default, or inum)',
    )
    .addHelpText('after', told)
    .action((file: string) => run(() => change('pool import', file)))
  pool
    .command('remove')
    .argument('<FILE>', 'CSV with the header e164,account_id')
    .summary('remove numbers from the stock')
    .description('Removes numbers from the stock; numbers in use stay in use')
    .addHelpText('after', told)
    .action((file: string) => run(() => change('pool remove', file)))
}
