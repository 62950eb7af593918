import { askHidden } from '../../cli/ask.ts'
import { clientOptions } from '../../cli/connection.ts'
import { fromStdin } from '../../cli/login.ts'
import { completeSignIn } from '../../cli/second-factor.ts'
import { Mistake, printable, type Terminal } from '../../cli/terminal.ts'
import { type CrosspointCore, CrosspointError, createCrosspoint } from '../../client/src/core.ts'
import { rowsOf } from '../../client/src/pages.ts'
import { status } from '../../src/commands/statuses.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { daySeconds, gregorianNow } from '../../src/lib/gregorian.ts'
import { isObject, type Json } from '../../src/lib/json.ts'
import {
  type ComparedPlace,
  createTally,
  differencesOfLists,
  differencesOfRecords,
  disregarded,
  foundIn,
  idOf,
  type Question,
  questions,
  type ReportedDifference,
  reportedAt,
  sampleOf,
} from '../comparing/differences.ts'
import { differenceLines, questionLines, sumOfQuestions, waitsForPerson } from './output.ts'

interface Asked {
  server: string
  account?: string
  username?: string
  code?: string
  /** Number of accounts below the own one. */
  sample: number
  /** The same seed selects the same accounts. */
  seed: string
  days: number
  json?: boolean
}

interface Sides {
  there: CrosspointCore
  here: CrosspointCore
}

// The first pages show whether filters and order agree; the checks of the import count all records.
const maxRows = 2000
const recordsOfList = 25

interface Answer {
  status: number
  data?: unknown
}

const answerTo = async (ask: () => Promise<unknown>): Promise<Answer> => {
  try {
    return { status: 200, data: await ask() }
  } catch (error) {
    if (error instanceof CrosspointError) return { status: error.status }
    throw error
  }
}

const listAt = async (side: CrosspointCore, path: string, query: Question['query']) => {
  const rows: unknown[] = []
  for await (const { data } of side.pagesOf(path, query)) {
    rows.push(...rowsOf(data))
    if (rows.length >= maxRows) return rows.slice(0, maxRows)
  }
  return rows
}

const compareAnswers = async <Data>(
  sides: Sides,
  place: ComparedPlace,
  ask: (side: CrosspointCore) => Promise<Data>,
  compare: (there: Data, here: Data) => ReportedDifference[],
): Promise<ReportedDifference[]> => {
  const [there, here] = await Promise.all([answerTo(() => ask(sides.there)), answerTo(() => ask(sides.here))])
  if (there.status !== here.status)
    return [{ ...place, what: 'status', there: there.status, here: here.status }]
  return there.status === 200 ? compare(there.data as Data, here.data as Data) : []
}

const compareRecord = (sides: Sides, place: ComparedPlace, path: string, query: Question['query'] = {}) =>
  compareAnswers(
    sides,
    place,
    async (side) => (await side.request({ path, query })).data,
    (there, here) =>
      isObject(there) && isObject(here) ? reportedAt(place, foundIn(differencesOfRecords(there, here))) : [],
  )

/** `asked`: the number of answers that were compared. */
const compareOne = async (
  sides: Sides,
  accountId: string,
  question: Question,
  query: Question['query'],
): Promise<{ asked: number; differences: ReportedDifference[] }> => {
  const place = { account_id: accountId, question: question.name }
  const path = `/v2/accounts/${accountId}${question.path}`
  if (question.as === 'record')
    return { asked: 1, differences: await compareRecord(sides, place, path, query) }
  const ids: string[] = []
  const differences = await compareAnswers(
    sides,
    place,
    (side) => listAt(side, path, query),
    (there, here) => {
      if (question.as === 'records') ids.push(...there.slice(0, recordsOfList).map(idOf))
      return differencesOfLists(place, there, here)
    },
  )
  for (const id of ids)
    differences.push(...(await compareRecord(sides, { ...place, id }, `${path}/${encodeURIComponent(id)}`)))
  return { asked: 1 + ids.length, differences }
}

const chosenAccounts = async ({ there }: Sides, ownId: string, { sample, seed }: Asked) => {
  const below: string[] = []
  for await (const row of there.eachOf<Json>(`/v2/accounts/${ownId}/descendants`)) below.push(idOf(row))
  return { accounts: [ownId, ...sampleOf(below, { sample, seed })], ofAll: below.length + 1 }
}

const timesOf = (days: number) => {
  const now = gregorianNow(systemClock)
  return { created_from: now - days * daySeconds, created_to: now }
}

const compareAll = async (terminal: Terminal, sides: Sides, ownId: string, options: Asked) => {
  const { accounts, ofAll } = await chosenAccounts(sides, ownId, options)
  const times = timesOf(options.days)
  const { tally, add } = createTally(questions.map(({ name }) => name))
  for (const [index, accountId] of accounts.entries()) {
    for (const question of questions) {
      const query = { ...question.query, ...(question.isTimed ? times : {}) }
      const { asked, differences } = await compareOne(sides, accountId, question, query)
      add({ account_id: accountId, question: question.name }, asked, differences)
    }
    if ((index + 1) % 10 === 0) terminal.printError(`${index + 1} of ${accounts.length} accounts`)
  }
  return {
    accounts: accounts.length,
    of_accounts: ofAll,
    ...tally,
    disregarded: disregarded.map(({ why }) => why),
  }
}

const textOf = (compared: Awaited<ReturnType<typeof compareAll>>) =>
  [
    ...differenceLines(compared),
    '',
    ...questionLines(compared),
    '',
    `${compared.accounts} of ${compared.of_accounts} accounts, ${sumOfQuestions(compared, 'asked')} answers, ${sumOfQuestions(compared, 'different')} different.`,
    'Not compared:',
    ...disregarded.map(({ why }) => `  ${why}`),
  ].join('\n')

interface Credentials {
  account: string
  username: string
  password: string
}

const signIn = async (terminal: Terminal, server: string, credentials: Credentials, code?: string) => {
  const client = createCrosspoint({ ...clientOptions(terminal), server })
  const { session } = await completeSignIn(terminal, await client.signIn(credentials), code)
  return { client, accountId: session.accountId }
}

const passwordFor = (terminal: Terminal, username: string) =>
  terminal.isAttended
    ? askHidden(terminal, { message: `Password of ${printable(username)}`, option: 'standard input' })
    : fromStdin('the password')

/** Returns the exit status: 0 if both systems answer the same, 2 if not. */
export const compareKazoo = async (terminal: Terminal, source: string, asked: Asked) => {
  const { account, username } = asked
  if (account === undefined || username === undefined)
    throw new Mistake('--account and --username are both required to sign in')
  const credentials = { account, username, password: await passwordFor(terminal, username) }
  const there = await signIn(terminal, source, credentials, asked.code)
  const here = await signIn(terminal, asked.server, credentials, asked.code)
  if (there.accountId !== here.accountId)
    throw new Mistake(
      `the account ${printable(account)} has the ID ${there.accountId} in Kazoo and ${here.accountId} here: compare Kazoo with a server that has imported its data`,
    )
  const sides = { there: there.client, here: here.client }
  const compared = await compareAll(terminal, sides, there.accountId, asked)
  await terminal.print(asked.json ? `${JSON.stringify(compared)}\n` : `${textOf(compared)}\n`)
  return compared.differences.length === 0 ? status.done : waitsForPerson
}
