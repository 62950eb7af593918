import type { Command } from 'commander'
import type { CrosspointEvent } from '../client/src/core.ts'
import { firstOf, jsonText } from './lists.ts'
import { textIn, timeText } from './rows.ts'
import { type AtServer, count, onAccount, openSite, type RunRemote, type Site } from './running.ts'
import { printable, type Terminal } from './terminal.ts'

interface Watched extends AtServer {
  follow?: boolean
  type?: string
  after?: string
  below?: boolean
  limit?: number
}

const nameOf = ({ after }: CrosspointEvent) => textIn(after, 'name') || textIn(after, 'username')

const byWhom = ({ actor }: CrosspointEvent) => [actor.type, actor.id].filter(Boolean).join(' ')

const lineOf = (terminal: Terminal, event: CrosspointEvent) => {
  const { at, type, record } = event
  const what = [record.kind, record.id, nameOf(event)].filter(Boolean).join(' ')
  const parts = [
    terminal.paint('dim', timeText(at)),
    terminal.paint('bold', printable(type).padEnd(24)),
    printable(what),
  ]
  return `${parts.join('  ')}  ${terminal.paint('dim', `by ${printable(byWhom(event))}`)}`
}

const printEvents = async ({ terminal, json }: Site, events: AsyncIterable<CrosspointEvent>) => {
  for await (const event of events)
    await terminal.print(`${json ? jsonText(event) : lineOf(terminal, event)}\n`)
}

const typesIn = (text: string | undefined) => text?.split(',').map((type) => type.trim())

const accountIn = (path: string) => path.slice(path.lastIndexOf('/') + 1)

const followed = ({ crosspoint, terminal, path }: Site, { type, after = 'now', below }: Watched) => {
  const types = typesIn(type)
  let isBroken = false
  return crosspoint.follow({
    accountId: accountIn(path),
    after,
    ...(types ? { types } : {}),
    ...(below ? { includeSubaccounts: true } : {}),
    onState(state) {
      if (state === 'waiting' && !isBroken) terminal.printError('connection lost: reconnecting')
      if (state === 'live' && isBroken) terminal.printError('connected again, no event was missed')
      if (state !== 'connecting') isBroken = state === 'waiting'
    },
  })
}

const stored = ({ crosspoint, path }: Site, { type, after, below }: Watched) =>
  crosspoint.eachOf<CrosspointEvent>(`${path}/events`, {
    type,
    after,
    include_subaccounts: below,
  })

const events = async (terminal: Terminal, { limit, ...options }: Watched) => {
  const site = await openSite(terminal, options)
  await printEvents(site, firstOf(options.follow ? followed(site, options) : stored(site, options), limit))
}

export const addEvents = (program: Command, run: RunRemote) =>
  onAccount(program.command('events'))
    .summary('show events, past and live')
    .description(
      'Prints the events of an account, oldest first, one per line. With --follow it waits for new events and reconnects after a broken connection. With --json each line is an event as JSON',
    )
    .option('-f, --follow', 'wait for new events until Ctrl-C')
    .option('--type <TYPES>', 'only these types: user.edited,task.*; calls (cdr.created) only if listed')
    .option('--after <SEQUENCE>', 'only events after this one')
    .option('--below', 'include events of sub-accounts')
    .option('--limit <COUNT>', 'stop after this number of events', count)
    .action((options) => run((terminal) => events(terminal, options)))
