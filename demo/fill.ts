import { freshPassword } from '../src/auth/credentials.ts'
import { masterClaim } from '../src/auth/identity.ts'
import { createCommandLog } from '../src/commands/command-log.ts'
import { checkForMissingStore } from '../src/commands/missing-store.ts'
import { createProgress, formatCount, print } from '../src/commands/output.ts'
import { type RunningServer, startServer } from '../src/compose.ts'
import type { Config } from '../src/config/config.ts'
import { configFromEnvironment } from '../src/config/env.ts'
import { systemClock } from '../src/lib/clock.ts'
import { Refusal } from '../src/storage/saved-store.ts'
import type { SignIn } from './accounts.ts'
import { createHistory, createSignIn, type History } from './api-client.ts'
import { daysOfHistory, randomOfDemo, runHistory } from './history.ts'

interface DemoOptions {
  calls: number
  /** Password of all sample users; without it each gets its own. */
  password?: string
  json?: boolean
}

const masterOf = async ({ store, areas }: RunningServer) => {
  const holder = await store.records.claimant(masterClaim)
  const account = holder && (await areas.accounts.find(holder.accountId))
  if (!account) throw new Error('the start created no master account')
  if (account.tally > 0)
    throw new Refusal('the master account already has sub-accounts, nothing was changed: use an empty store')
  return account
}

const adminOf = async ({ areas }: RunningServer, accountId: string) => {
  const users = await areas.users.page({ accountId, limit: 100, descending: false })
  const admin = users.find(({ doc }) => doc.priv_level === 'admin' && doc.enabled !== false)
  if (!admin) throw new Refusal('the master account has no enabled admin')
  return admin
}

const seed = async (server: RunningServer, config: Config, history: History, options: DemoOptions) => {
  const account = await masterOf(server)
  const admin = await adminOf(server, account.id)
  const random = randomOfDemo()
  const signIn = createSignIn(server, history, random)
  const operator = await signIn(account.id, admin.id)
  // Only the start that made the master account knows the password.
  const { firstAdmin } = server
  const password = firstAdmin && (firstAdmin.generated?.password ?? config.adminPassword)
  const signIns: SignIn[] = [
    { username: admin.doc.username ?? '', password, account: account.doc.name, role: 'operator' },
  ]
  const counts = { accounts: 0, users: 0, devices: 0, numbers: 0 }
  const progress = createProgress(options.calls)
  const demo = {
    ...{ server, history, random, signIn, operator, signIns, counts },
    masterId: account.id,
    newPassword: () => options.password ?? freshPassword(),
    onAccount: (name: string) => progress.show(0, `${name} with its users and phones`),
  }
  let calls = 0
  await runHistory(demo, options.calls, (count) => {
    calls += count
    progress.show(calls, `${formatCount(calls)} call records`)
  })
  progress.end()
  await operator('DELETE token_auth')
  return { ...counts, calls, sign_ins: signIns }
}

const textOf = (result: Awaited<ReturnType<typeof seed>>) => {
  const { accounts, users, devices, numbers, calls, sign_ins: signIns } = result
  const rows = [
    ['username', 'password', 'role', 'account'],
    ...signIns.map(({ username, password = '(unchanged)', role, account }) => [
      username,
      password,
      role,
      account,
    ]),
  ]
  const widths = [0, 1, 2, 3].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  const lines = rows.map((row) =>
    row
      .map((cell, at) => cell.padEnd(widths[at] ?? 0))
      .join('  ')
      .trimEnd(),
  )
  return `${accounts} accounts, ${users} users, ${devices} devices, ${numbers} numbers, ${calls} call records

${lines.join('\n')}

These passwords are shown only once.`
}

export const fillWithDemo = async (options: DemoOptions) => {
  const environment = configFromEnvironment()
  process.umask(0o077)
  // Mail of the demo goes to the outbox.
  const config: Config = { ...environment, host: '127.0.0.1', port: 0, smtpUrl: undefined }
  await checkForMissingStore(environment)
  const history = createHistory(systemClock.now(), daysOfHistory)
  const log = createCommandLog(config, 'error')
  const server = await startServer(config, { clock: history, log }, { timeOfDay: systemClock })
  try {
    const result = await seed(server, environment, history, options)
    print(options.json ? JSON.stringify(result) : textOf(result))
  } finally {
    await server.stop()
  }
}
