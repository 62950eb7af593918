import { type Command, InvalidArgumentError, Option } from 'commander'
import type { Query } from '../client/src/core.ts'
import type { Run } from '../src/commands/statuses.ts'
import { accountNamed, type Connection, connect } from './connection.ts'
import { printFailure } from './failures.ts'
import { firstOf, printRows } from './lists.ts'
import type { Row } from './rows.ts'
import type { Column } from './table.ts'
import { openTerminal, type Terminal } from './terminal.ts'

/** Prints failures of commands at a server, and sets the status. */
export type RunRemote = (work: (terminal: Terminal) => Promise<unknown>) => Promise<void>

export const remotely =
  (run: Run): RunRemote =>
  (work) =>
    run(async () => {
      const terminal = openTerminal()
      try {
        return await work(terminal)
      } catch (error) {
        return printFailure(terminal, error)
      }
    })

export interface AtServer {
  profile: string
  account?: string
  json?: boolean
}

export interface Listed extends AtServer {
  limit?: number
  query?: Query
}

export interface Site extends Connection {
  terminal: Terminal
  json: boolean
  /** `/v2/accounts/{id}`. */
  path: string
}

export const openSite = async (terminal: Terminal, options: AtServer): Promise<Site> => {
  const connection = await connect(terminal, options.profile)
  const path = `/v2/accounts/${await accountNamed(connection, options.account)}`
  return { ...connection, terminal, path, json: options.json === true }
}

/** `path` is below the account. */
export const printList = async (
  terminal: Terminal,
  { limit, query, ...options }: Listed,
  { path, ...shown }: { path: string; columns: readonly Column<Row>[]; none: string },
) => {
  const site = await openSite(terminal, options)
  const rows = firstOf(site.crosspoint.eachOf<Row>(`${site.path}/${path}`, query), limit)
  await printRows(terminal, { rows, json: site.json, ...shown })
}

export const profileOption = () =>
  new Option('--profile <NAME>', 'which stored sign-in to use').default('default', 'default')

const jsonOption = () => new Option('--json', 'print JSON')

export const onAccount = (command: Command) =>
  command
    .option('--account <ACCOUNT>', 'a sub-account, by ID or name (default: the signed-in account)')
    .addOption(jsonOption())
    .addOption(profileOption())

export const count = (text: string) => {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('Use a whole number.')
  return Number(text)
}

/** `key=value`; may be repeated. */
export const pairs = (text: string, before: Readonly<Record<string, string>> = {}) => {
  const at = text.indexOf('=')
  if (at < 1) throw new InvalidArgumentError('Write it as key=value.')
  return { ...before, [text.slice(0, at)]: text.slice(at + 1) }
}

export const queryOption = () =>
  new Option('-q, --query <KEY=VALUE>', 'a filter or another query parameter; repeatable').argParser(pairs)

export const listing = (command: Command) =>
  onAccount(command).option('--limit <COUNT>', 'maximum number of rows', count).addOption(queryOption())
