import { type Command, InvalidArgumentError } from 'commander'
import { gregorianOfUnix } from '../src/lib/gregorian.ts'
import { column, idColumn, timeColumn } from './rows.ts'
import {
  type Listed,
  listing,
  onAccount,
  openSite,
  printList,
  queryOption,
  type RunRemote,
} from './running.ts'
import type { Terminal } from './terminal.ts'

const days = /^\d{4}-\d{2}-\d{2}$/

/** Gregorian seconds. A date without a time is in the time zone of this machine. */
const momentIn = (text: string, ofDay: string) => {
  const at = new Date(days.test(text) ? `${text}T${ofDay}` : text).getTime()
  if (Number.isNaN(at)) throw new InvalidArgumentError('Write a time as 2026-01-31 or 2026-01-31T13:45:00Z.')
  return gregorianOfUnix(at / 1000)
}

const beginningIn = (text: string) => momentIn(text, '00:00:00')
const endIn = (text: string) => momentIn(text, '23:59:59')

interface Window {
  from?: number
  to?: number
}

const columns = [
  timeColumn('STARTED', 'timestamp'),
  column('DIRECTION'),
  column('FROM', 'caller_id_number'),
  column('NAME', 'caller_id_name'),
  column('TO', 'callee_id_number'),
  column('SECONDS', 'duration_seconds', { align: 'right' }),
  column('ENDED', 'hangup_cause'),
  idColumn,
]

const list = (terminal: Terminal, { from, to, ...options }: Listed & Window) => {
  const query = { ...options.query, created_from: from, created_to: to }
  const none = 'no call detail records in this period'
  return printList(terminal, { ...options, query }, { path: 'cdrs', columns, none })
}

const exportCsv = async (terminal: Terminal, { from, to, ...options }: Listed & Window) => {
  const { crosspoint, path } = await openSite(terminal, options)
  const query = { ...options.query, created_from: from, created_to: to }
  await terminal.file(await crosspoint.csv(`${path}/cdrs`, { query }).bytes())
}

const inWindow = (command: Command) =>
  command
    .option('--from <TIME>', 'first day or time: 2026-01-31, 2026-01-31T13:45', beginningIn)
    .option('--to <TIME>', 'last day or time, inclusive', endIn)

export const addCdrs = (cdrs: Command, run: RunRemote) => {
  inWindow(listing(cdrs.command('list')))
    .description('list the call detail records of an account')
    .action((options) => run((terminal) => list(terminal, options)))
  inWindow(onAccount(cdrs.command('export')))
    .description('write the records to standard output as CSV')
    .addOption(queryOption())
    .action((options) => run((terminal) => exportCsv(terminal, options)))
}
