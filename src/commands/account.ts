import { User } from '../areas/accounts/users/schema.ts'
import { freshPassword } from '../auth/credentials.ts'
import { createPasswordHasher } from '../auth/deriving/deriver.ts'
import { type AccountRecord, masterClaim, type UserRecord } from '../auth/identity.ts'
import { ConfigError } from '../config/config.ts'
import { configFromEnvironment } from '../config/env.ts'
import { createValidation } from '../http/judge/validation.ts'
import { systemClock } from '../lib/clock.ts'
import { Failure, hasProblems, invalid, isFailure, joinProblems, validationError } from '../lib/failure.ts'
import { newId } from '../lib/ids.ts'
import type { Log } from '../lib/log.ts'
import { createMetrics } from '../lib/metrics.ts'
import { createSettings } from '../settings/settings.ts'
import { type Author, ChangeSet } from '../storage/change-set.ts'
import { retrying, type Store } from '../storage/store.ts'
import { bareAreas } from './bare-areas.ts'
import { createCommandLog } from './command-log.ts'
import { openStore } from './open-store.ts'

/** Something that the person at the terminal has to put right: nothing has been changed. */
class Mistake extends Error {}

interface Result {
  username: string
  password?: string
}

interface Work {
  store: Store
  offers: ReturnType<typeof offersOf>
  author: Author
  account: AccountRecord
  username: string
}

const offersOf = (
  store: Store,
  deriver: ReturnType<typeof createPasswordHasher>,
  settings: ReturnType<typeof settingsOf>,
  log: Log,
) => {
  return bareAreas({ store, settings, deriver, log }).offers
}

const settingsOf = (store: Store) => createSettings(store.records, 'command')

const masterOf = async ({ records }: Store, { accounts }: Work['offers']) => {
  const holder = await records.claimant(masterClaim)
  const account = holder && (await accounts.find(holder.accountId))
  if (!account) throw new Mistake('there is no master account yet: the first start of the server makes it')
  return account
}

const adminOf = async ({ offers, account, username }: Work): Promise<UserRecord> => {
  const user = await offers.users.byUsername(account.id, username)
  if (user?.doc.priv_level === 'admin') return user
  throw new Mistake(`there is no admin ${JSON.stringify(username)} of the account ${account.doc.name}`)
}

const reset = async (work: Work): Promise<Result> => {
  const { store, offers, author, account } = work
  const user = await adminOf(work)
  const password = freshPassword()
  const set = new ChangeSet(author)
  await offers.users.beginAnew(set, account, user, password)
  await offers.security.lock.unlockWith(set, account)
  await store.commit(set)
  return { username: user.doc.username ?? work.username, password }
}

const unlock = async (work: Work): Promise<Result> => {
  const { store, offers, author, account } = work
  const user = await adminOf(work)
  const set = new ChangeSet(author)
  if (user.doc.enabled === false) offers.users.enable(set, user)
  await offers.security.lock.unlockWith(set, account)
  if (set.changes.length > 0) await store.commit(set)
  return { username: user.doc.username ?? work.username }
}

const create = async ({ store, offers, author, account, username }: Work): Promise<Result> => {
  const password = freshPassword()
  const person = { first_name: 'Account', last_name: 'Admin', username, priv_level: 'admin', password }
  const { value, problems } = createValidation(User)(person)
  const all = joinProblems(problems, await offers.users.judge(account.id, value))
  if (hasProblems(all)) throw invalid(all)
  const set = new ChangeSet(author)
  const user = await offers.users.addTo(set, account, value)
  await store.commit(set)
  return { username: user.doc.username ?? username, password }
}

const actions = { reset, unlock, create }

export type Action = keyof typeof actions

const textOf = ({ username, password }: Result) =>
  password === undefined
    ? `user ${username} may sign in\n`
    : `user ${username}, password ${password}\nThis password is shown once and stored nowhere.\n`

const perform = async (action: Action, username: string): Promise<Result> => {
  const config = configFromEnvironment()
  process.umask(0o077)
  const { store, close } = await openStore(config, systemClock)
  const settings = settingsOf(store)
  const deriver = createPasswordHasher({ settings, clock: systemClock, metrics: createMetrics() })
  try {
    const offers = offersOf(store, deriver, settings, createCommandLog(config, 'warn'))
    const author: Author = { requestId: newId(systemClock.now()), authMethod: 'command' }
    return await retrying(async () => {
      await store.fence()
      const account = await masterOf(store, offers)
      return actions[action]({ store, offers, author, account, username })
    })
  } finally {
    await deriver.stop()
    await close()
  }
}

/** One line for each thing that is wrong with what was asked for. */
const problemsIn = (error: Failure) =>
  isFailure(error, validationError)
    ? Object.entries(error.details.problems).flatMap(([path, rules]) =>
        Object.values(rules).map(({ message }) => `${path}: ${message}`),
      )
    : [error.kind.name.replaceAll('_', ' ')]

const reasonOf = (error: unknown): string | undefined => {
  if (error instanceof ConfigError) return `the settings are wrong:\n  ${error.mistakes.join('\n  ')}`
  if (error instanceof Failure) return `nothing was changed: ${problemsIn(error).join('; ')}`
  return error instanceof Mistake ? error.message : undefined
}

interface Asked {
  action: Action
  username: string
  asJson: boolean
}

export const changeAdmin = async ({ action, username, asJson }: Asked): Promise<number> => {
  try {
    const result = await perform(action, username)
    process.stdout.write(asJson ? `${JSON.stringify(result)}\n` : textOf(result))
    return 0
  } catch (error) {
    const reason = reasonOf(error)
    if (reason === undefined) throw error
    process.stderr.write(`crosspoint: ${reason}\n`)
    return 1
  }
}
