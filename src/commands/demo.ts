import { freshPassword } from '../auth/credentials.ts'
import { masterClaim } from '../auth/identity.ts'
import { type RunningServer, startServer } from '../compose.ts'
import { type Config, ConfigError } from '../config/config.ts'
import { configFromEnvironment } from '../config/env.ts'
import { systemClock } from '../lib/clock.ts'
import { createCommandLog } from './command-log.ts'
import { createDemoClient, Refused } from './demo/desk.ts'
import { createPast } from './demo/past.ts'
import { chanceOfStory, daysOfStory, seedDemo } from './demo/story.ts'
import type { Stage } from './demo/tree.ts'
import { checkForMissingStore } from './missing-store.ts'
import { createProgress } from './progress.ts'

/** Something that the person at the terminal has to put right: nothing has been changed. */
class Mistake extends Error {}

interface DemoOptions {
  calls: number
  /** Of everybody who can sign in; without it each has one of their own. */
  password?: string
  json?: boolean
}

const masterOf = async ({ store, areas }: RunningServer) => {
  const holder = await store.records.claimant(masterClaim)
  const account = holder && (await areas.accounts.find(holder.accountId))
  if (!account) throw new Error('the start has made no master account')
  if (account.tally > 0)
    throw new Mistake('nothing was changed: there are accounts below the master account already')
  return account
}

const adminOf = async ({ areas }: RunningServer, accountId: string) => {
  const users = await areas.users.page({ accountId, limit: 100, descending: false })
  const admin = users.find(({ doc }) => doc.priv_level === 'admin' && doc.enabled !== false)
  if (!admin) throw new Mistake('the master account has no admin who is enabled')
  return admin
}

/** The operator, whose password only the start that made the account knows. */
const passwordOf = ({ firstAdmin }: RunningServer, { adminPassword }: Config) =>
  firstAdmin && (firstAdmin.generated?.password ?? adminPassword)

const fill = async (server: RunningServer, config: Config, past: Stage['past'], options: DemoOptions) => {
  const account = await masterOf(server)
  const admin = await adminOf(server, account.id)
  const chance = chanceOfStory()
  const desk = createDemoClient(server, past, chance)
  const progress = createProgress(process.stderr, options.calls)
  const stage: Stage = {
    server,
    past,
    chance,
    desk,
    operator: await desk.of(account.id, admin.id),
    masterId: account.id,
    newPassword: () => options.password ?? freshPassword(),
    signIns: [
      {
        username: admin.doc.username ?? '',
        password: passwordOf(server, config),
        account: account.doc.name,
        role: 'operator',
      },
    ],
    // Whoever runs beside it has the round in hand then, and what it does is met in the next answer.
    work: (round) => server.rounds.runNow(round).catch(() => undefined),
    onAccount: (name) => progress.show(0, `${name} with its people and phones`),
    counts: { accounts: 0, users: 0, devices: 0, numbers: 0 },
  }
  let calls = 0
  await seedDemo(stage, options.calls, {
    onCalls(count) {
      calls += count
      progress.show(calls, `${calls.toLocaleString('en-US')} call records`)
    },
  })
  progress.end()
  await stage.operator.delete('token_auth')
  return { ...stage.counts, calls, sign_ins: stage.signIns }
}

type Result = Awaited<ReturnType<typeof fill>>

const textOf = ({ accounts, users, devices, numbers, calls, sign_ins: signIns }: Result) => {
  const heading = ['username', 'password', 'role', 'account']
  const told = signIns.map(({ username, password = '(as before)', role, account }) => [
    username,
    password,
    role,
    account,
  ])
  const lines = [heading, ...told]
  const widths = heading.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)))
  const rows = lines
    .map((line) =>
      line
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
  return `${accounts} accounts, ${users} users, ${devices} devices, ${numbers} numbers, ${calls} call records

${rows}

These passwords are shown once and stored nowhere.
`
}

const perform = async (options: DemoOptions): Promise<Result> => {
  const environment = configFromEnvironment()
  process.umask(0o077)
  // Mail of the story goes to the outbox.
  const config: Config = { ...environment, host: '127.0.0.1', port: 0, smtpUrl: undefined }
  await checkForMissingStore(environment)
  const past = createPast(systemClock.now(), daysOfStory)
  const log = createCommandLog(config, 'error')
  const server = await startServer(config, { clock: past, log }, { timeOfDay: systemClock })
  try {
    return await fill(server, environment, past, options)
  } finally {
    await server.stop()
  }
}

const reasonOf = (error: unknown): string | undefined => {
  if (error instanceof ConfigError) return `the settings are wrong:\n  ${error.mistakes.join('\n  ')}`
  const isSystemError = error instanceof Error && 'code' in error
  return isSystemError || error instanceof Mistake || error instanceof Refused ? error.message : undefined
}

/** Fills the store that the environment names; answers with the status. */
export const fillWithDemo = async (options: DemoOptions): Promise<number> => {
  try {
    const result = await perform(options)
    process.stdout.write(options.json ? `${JSON.stringify(result)}\n` : textOf(result))
    return 0
  } catch (error) {
    const reason = reasonOf(error)
    if (reason === undefined) throw error
    process.stderr.write(`crosspoint: ${reason}\n`)
    return 1
  }
}
