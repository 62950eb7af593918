import type { Command } from 'commander'
import { isObject } from '../src/lib/json.ts'
import { withConsent } from './consent.ts'
import { printJson } from './lists.ts'
import { column, idColumn, type Row, textIn } from './rows.ts'
import {
  type AtServer,
  type Listed,
  listing,
  onAccount,
  openSite,
  printList,
  type RunRemote,
  type Site,
} from './running.ts'
import { isolated, printFields } from './table.ts'
import { printable, type Terminal } from './terminal.ts'

const columns = [
  column('NAME'),
  column('REALM'),
  column('BELOW', 'descendants_count', { align: 'right' }),
  idColumn,
]

const list = (terminal: Terminal, { all, ...options }: Listed & { all?: boolean }) =>
  printList(terminal, options, {
    path: all ? 'descendants' : 'children',
    columns: all ? columns.filter(({ title }) => title !== 'BELOW') : columns,
    none: 'no sub-accounts',
  })

interface Branch {
  id: string
  name: string
  realm: string
  children: Branch[]
}

const branchOf = (row: unknown): Branch => ({
  id: textIn(row, 'id'),
  name: textIn(row, 'name'),
  realm: textIn(row, 'realm'),
  children: [],
})

const parentOf = ({ tree }: Row) => (Array.isArray(tree) ? tree.at(-1) : undefined)

const treeBelow = async ({ crosspoint, path }: Site) => {
  const top = branchOf((await crosspoint.request({ path })).data)
  const branches = new Map([[top.id, top]])
  const parents = new Map<string, unknown>()
  for await (const row of crosspoint.eachOf<Row>(`${path}/descendants`)) {
    const branch = branchOf(row)
    branches.set(branch.id, branch)
    parents.set(branch.id, parentOf(row))
  }
  for (const [id, parentId] of parents) {
    const branch = branches.get(id)
    if (branch) branches.get(`${parentId}`)?.children.push(branch)
  }
  for (const { children } of branches.values()) children.sort((a, b) => a.name.localeCompare(b.name))
  return top
}

const printBranch = async (
  terminal: Terminal,
  { name, realm, id, children }: Branch,
  lead: string,
  own: string,
) => {
  await terminal.print(
    `${own}${isolated(printable(name), terminal)}  ${terminal.paint('dim', printable(`${realm}  ${id}`))}\n`,
  )
  for (const [index, child] of children.entries()) {
    const isLast = index === children.length - 1
    await printBranch(terminal, child, `${lead}${isLast ? '   ' : '│  '}`, `${lead}${isLast ? '└─ ' : '├─ '}`)
  }
}

const tree = async (terminal: Terminal, options: AtServer) => {
  const site = await openSite(terminal, options)
  const top = await treeBelow(site)
  if (site.json) await printJson(terminal, top)
  else await printBranch(terminal, top, '', '')
}

const shownOf = (record: Row) =>
  Object.entries(record).map(
    ([name, value]) =>
      [name, isObject(value) || Array.isArray(value) ? JSON.stringify(value) : `${value}`] as const,
  )

export const printRecord = async ({ terminal, json }: Site, record: unknown) => {
  if (json || !isObject(record)) await printJson(terminal, record)
  else await printFields(terminal, shownOf(record))
}

const show = async (terminal: Terminal, named: string | undefined, options: AtServer) => {
  const site = await openSite(terminal, named === undefined ? options : { ...options, account: named })
  await printRecord(site, (await site.crosspoint.request({ path: site.path })).data)
}

interface New extends AtServer {
  realm?: string
  yes?: boolean
}

const create = async (terminal: Terminal, name: string, { realm, ...options }: New) => {
  const site = await openSite(terminal, options)
  const data = { name, ...(realm === undefined ? {} : { realm }) }
  const made = await withConsent(
    terminal,
    options,
    async () => (await site.crosspoint.request({ method: 'PUT', path: site.path, data })).envelope,
  )
  if (site.json) return printJson(terminal, made.data)
  await terminal.print(`${printable(textIn(made.data, 'id'))}\n`)
}

export const yesOption = ['--yes', 'accept the charges without asking'] as const

export const addAccounts = (program: Command, run: RunRemote) => {
  const accounts = program.command('accounts').description('list, show and create sub-accounts')
  listing(accounts.command('list'))
    .description('list direct sub-accounts')
    .option('--all', 'list sub-accounts at every depth')
    .action((options) => run((terminal) => list(terminal, options)))
  onAccount(accounts.command('tree'))
    .description('show all sub-accounts as a tree')
    .action((options) => run((terminal) => tree(terminal, options)))
  onAccount(accounts.command('show'))
    .argument('[ACCOUNT]', 'ID or name')
    .description('show an account')
    .action((named: string | undefined, options) => run((terminal) => show(terminal, named, options)))
  onAccount(accounts.command('create'))
    .argument('<NAME>')
    .description('create a sub-account and print its ID')
    .option('--realm <REALM>', 'SIP domain; generated if omitted')
    .option(...yesOption)
    .action((name: string, options) => run((terminal) => create(terminal, name, options)))
}
