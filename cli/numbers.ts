import type { Command } from 'commander'
import { status } from '../src/commands/statuses.ts'
import { isObject } from '../src/lib/json.ts'
import { yesOption } from './accounts.ts'
import { withConsent } from './consent.ts'
import { printJson, printRows } from './lists.ts'
import { column, textIn, timeColumn } from './rows.ts'
import {
  type AtServer,
  count,
  type Listed,
  listing,
  onAccount,
  openSite,
  printList,
  type RunRemote,
} from './running.ts'
import { printable, type Terminal } from './terminal.ts'

const number = column('NUMBER', 'id', { isWhole: true })

const columns = [number, column('STATE'), column('USED BY', 'used_by'), timeColumn('CREATED', 'created')]

const list = (terminal: Terminal, options: Listed) =>
  printList(terminal, options, { path: 'phone_numbers', columns, none: 'no numbers' })

interface Search extends AtServer {
  country?: string
  quantity: number
}

const found = [column('NUMBER', 'number', { isWhole: true }), column('STATE')]

async function* rowsIn(data: unknown) {
  if (Array.isArray(data)) yield* data.filter(isObject)
}

const search = async (terminal: Terminal, prefix: string, { country, quantity, ...options }: Search) => {
  const { crosspoint, path, json } = await openSite(terminal, options)
  const { data } = await crosspoint.request({
    path: `${path}/phone_numbers`,
    query: { prefix, quantity, country },
  })
  await printRows(terminal, {
    rows: rowsIn(data),
    columns: found,
    json,
    none: `no numbers available with prefix ${prefix}`,
  })
}

const entriesIn = (data: unknown, name: string) => {
  const entries = isObject(data) ? data[name] : undefined
  return isObject(entries) ? Object.entries(entries) : []
}

const buy = async (terminal: Terminal, numbers: readonly string[], options: AtServer & { yes?: boolean }) => {
  const { crosspoint, path, json } = await openSite(terminal, options)
  const { data } = await withConsent(terminal, options, async () => {
    const collection = `${path}/phone_numbers/collection/activate`
    return (await crosspoint.request({ method: 'PUT', path: collection, data: { numbers } })).envelope
  })
  const failed = entriesIn(data, 'error')
  if (json) await printJson(terminal, data)
  else for (const [bought] of entriesIn(data, 'success')) await terminal.print(`${printable(bought)}\n`)
  for (const [refused, reason] of failed) {
    const message = textIn(reason, 'message') || textIn(reason, 'error')
    terminal.printError(`${terminal.paintError('red', 'crosspoint:')} ${printable(`${refused}: ${message}`)}`)
  }
  return failed.length > 0 ? status.failed : status.done
}

export const addNumbers = (numbers: Command, run: RunRemote) => {
  listing(numbers.command('list'))
    .description('list the numbers of an account')
    .action((options) => run((terminal) => list(terminal, options)))
  onAccount(numbers.command('search'))
    .argument('<PREFIX>', 'national prefix, such as 415')
    .description('search for available numbers')
    .option('--country <CODE>', 'two-letter country code; default US')
    .option('--quantity <COUNT>', 'how many', count, 10)
    .action((prefix: string, options) => run((terminal) => search(terminal, prefix, options)))
  onAccount(numbers.command('buy'))
    .argument('<NUMBER...>', 'such as +14155550100')
    .description('buy numbers; shows the charges and asks first')
    .option(...yesOption)
    .action((wanted: string[], options) => run((terminal) => buy(terminal, wanted, options)))
}
