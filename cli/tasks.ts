import { constants, openAsBlob } from 'node:fs'
import { access } from 'node:fs/promises'
import { basename } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Command, InvalidArgumentError } from 'commander'
import { createProgress } from '../src/commands/output.ts'
import { status } from '../src/commands/statuses.ts'
import { printRecord } from './accounts.ts'
import { printJson } from './lists.ts'
import { column, idColumn, type Row, textIn, timeColumn } from './rows.ts'
import {
  type AtServer,
  type Listed,
  listing,
  onAccount,
  openSite,
  pairs,
  printList,
  type RunRemote,
  type Site,
} from './running.ts'
import { printable, type Terminal } from './terminal.ts'

const columns = [
  idColumn,
  column('CATEGORY'),
  column('ACTION'),
  column('STATUS'),
  column('ROWS', 'total_count', { align: 'right' }),
  column('DONE', 'success_count', { align: 'right' }),
  column('FAILED', 'failure_count', { align: 'right' }),
  timeColumn('MADE', 'submit_timestamp'),
  column('FILE', 'file_name'),
]

const list = (terminal: Terminal, options: Listed) =>
  printList(terminal, options, { path: 'tasks', columns, none: 'no tasks' })

const read = async ({ crosspoint, path }: Site, id: string): Promise<Row> =>
  (await crosspoint.request({ path: `${path}/tasks/${encodeURIComponent(id)}` })).envelope.metadata

const show = async (terminal: Terminal, id: string, options: AtServer) => {
  const site = await openSite(terminal, options)
  await printRecord(site, await read(site, id))
}

const hasEnded = (task: Row) => textIn(task, 'end_timestamp') !== ''

const numberIn = (task: Row, name: string) => Number.parseInt(textIn(task, name), 10) || 0

const progressOf = (task: Row) => {
  const failed = numberIn(task, 'failure_count')
  const done = numberIn(task, 'success_count') + failed
  const total = numberIn(task, 'total_count')
  const rows = total > 0 ? `${done} of ${total} rows` : `${done} rows`
  return { done, total, text: failed > 0 ? `${rows}, ${failed} failed` : rows }
}

const firstPauseMs = 200
const maxPollPauseMs = 2000

/** Polls until the task ends. */
async function* looksAt(site: Site, id: string) {
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 1.5, maxPollPauseMs)) {
    const task = await read(site, id)
    yield task
    if (hasEnded(task)) return
    await sleep(pauseMs)
  }
}

const watchAt = async (site: Site, id: string) => {
  const { terminal, json } = site
  let task = await read(site, id)
  if (textIn(task, 'status') === 'pending') {
    terminal.printError(`the task has not started: run crosspoint tasks start ${id}`)
    return status.failed
  }
  terminal.lastWords(`The task continues on the server: crosspoint tasks watch ${id}`)
  const progress = createProgress(progressOf(task).total)
  for await (const look of looksAt(site, id)) {
    task = look
    const { done, text } = progressOf(task)
    progress.show(done, text)
  }
  progress.end()
  if (json) await printJson(terminal, task)
  else await terminal.print(`${printable(textIn(task, 'status'))}: ${progressOf(task).text}\n`)
  return textIn(task, 'status') === 'success' ? status.done : status.failed
}

const watch = async (terminal: Terminal, id: string, options: AtServer) =>
  watchAt(await openSite(terminal, options), id)

interface Start extends AtServer {
  watch?: boolean
  /** False: rows with charges fail. */
  charges: boolean
}

const startAt = async (site: Site, id: string, { watch: isWatched, charges }: Start) => {
  const path = `${site.path}/tasks/${encodeURIComponent(id)}`
  const query = charges ? {} : { accept_charges: false }
  const { envelope } = await site.crosspoint.request({ method: 'PATCH', path, query })
  if (isWatched) return watchAt(site, id)
  if (site.json) return printJson(site.terminal, envelope.metadata)
  return site.terminal.print(`${printable(`${id} ${textIn(envelope.metadata, 'status')}`)}\n`)
}

const start = async (terminal: Terminal, id: string, options: Start) =>
  startAt(await openSite(terminal, options), id, options)

interface New extends Start {
  dryRun?: boolean
  start?: boolean
  query?: Readonly<Record<string, string>>
}

const actionIn = (text: string) => {
  const [category, action, ...more] = text.split('/')
  if (!category || !action || more.length > 0)
    throw new InvalidArgumentError('Write it as category/action, such as number_management/import.')
  return { category, action }
}

type Action = ReturnType<typeof actionIn>

/** The file is streamed. */
const inputOf = async (file: string | undefined) => {
  if (file === undefined) return { data: {} }
  // Its error contains the problem; the error of a Blob does not.
  await access(file, constants.R_OK)
  return { body: await openAsBlob(file), headers: { 'content-type': 'text/csv' } }
}

const create = async (terminal: Terminal, what: Action, file: string | undefined, options: New) => {
  const site = await openSite(terminal, options)
  const query = {
    ...options.query,
    ...what,
    file_name: file === undefined ? undefined : basename(file),
    dry_run: options.dryRun,
  }
  const input = await inputOf(file)
  const path = `${site.path}/tasks`
  const { envelope } = await site.crosspoint.request({ method: 'PUT', path, query, ...input })
  const id = textIn(envelope.metadata, 'id')
  if (options.start || options.watch) return startAt(site, id, options)
  if (site.json) return printJson(terminal, envelope.metadata)
  return terminal.print(`${printable(id)}\n`)
}

const withStart = (command: Command) =>
  onAccount(command)
    .option('--watch', 'wait until the task has finished')
    .option('--no-charges', 'rows that cause charges fail')

export const addTasks = (program: Command, run: RunRemote) => {
  const tasks = program.command('tasks').description('create, start and watch bulk tasks')
  listing(tasks.command('list'))
    .description('list the tasks of an account, newest first')
    .action((options) => run((terminal) => list(terminal, options)))
  onAccount(tasks.command('show'))
    .argument('<TASK>', 'task ID')
    .description('show a task')
    .action((id: string, options) => run((terminal) => show(terminal, id, options)))
  withStart(tasks.command('start'))
    .argument('<TASK>', 'task ID')
    .description('start a task')
    .action((id: string, options) => run((terminal) => start(terminal, id, options)))
  onAccount(tasks.command('watch'))
    .argument('<TASK>', 'task ID')
    .summary('show task progress until it finishes')
    .description('Shows task progress until it finishes. Exit status: 0 if all rows succeeded')
    .action((id: string, options) => run((terminal) => watch(terminal, id, options)))
  withStart(tasks.command('create'))
    .argument('<ACTION>', 'category/action, such as number_management/import', actionIn)
    .argument('[FILE]', 'input file (CSV)')
    .summary('create a task from a CSV file')
    .description(
      'Creates a task from a CSV file and prints its ID. `crosspoint api GET /tasks` lists all actions with their columns',
    )
    .option('--dry-run', 'validate every row, change nothing')
    .option('--start', 'start the task immediately')
    .option('-q, --query <KEY=VALUE>', 'further parameters of the action; repeatable', pairs)
    .action((what: Action, file: string | undefined, options) =>
      run((terminal) => create(terminal, what, file, options)),
    )
}
