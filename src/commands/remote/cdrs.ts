import type { Command } from 'commander'
import { firstOf, printRows } from './lists.ts'
import { column, idColumn, type Row, timeColumn } from './rows.ts'
import {
  type AtServer,
  type Listed,
  listing,
  onAccount,
  openSite,
  queryOption,
  type RunRemote,
} from './running.ts'
import type { Terminal } from './terminal.ts'
import { beginningIn, endIn } from './times.ts'

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

const queryOf = ({ from, to, query }: Window & Pick<Listed, 'query'>) => ({
  ...query,
  created_from: from,
  created_to: to,
})

const list = async (terminal: Terminal, { limit, ...options }: Listed & Window) => {
  const { crosspoint, path, json } = await openSite(terminal, options)
  const rows = firstOf(crosspoint.eachOf<Row>(`${path}/cdrs`, queryOf(options)), limit)
  await printRows(terminal, { rows, columns, json, none: 'no call detail records of that time' })
}

const exportCsv = async (terminal: Terminal, options: AtServer & Window & Pick<Listed, 'query'>) => {
  const { crosspoint, path } = await openSite(terminal, options)
  await terminal.file(await crosspoint.csv(`${path}/cdrs`, { query: queryOf(options) }).bytes())
}

const inWindow = (command: Command) =>
  command
    .option('--from <TIME>', 'from this day or time on: 2026-01-31, 2026-01-31T13:45', beginningIn)
    .option('--to <TIME>', 'up to this day or time, that included', endIn)

export const addCdrs = (cdrs: Command, run: RunRemote) => {
  inWindow(listing(cdrs.command('list')))
    .description('list the call detail records of an account')
    .action((options) => run((terminal) => list(terminal, options)))
  inWindow(onAccount(cdrs.command('export')))
    .description('write them to standard output as CSV, as they come')
    .addOption(queryOption())
    .action((options) => run((terminal) => exportCsv(terminal, options)))
}
