import { User } from '../areas/accounts/users/schema.ts'
import { freshPassword } from '../auth/credentials.ts'
import { createPasswordHasher } from '../auth/deriving/deriver.ts'
import { type AccountRecord, masterClaim, type UserRecord } from '../auth/identity.ts'
import { createValidation } from '../http/request/validation.ts'
import { systemClock } from '../lib/clock.ts'
import {
  type Failure,
  hasProblems,
  invalid,
  isFailure,
  joinProblems,
  validationError,
} from '../lib/failure.ts'
import { newId } from '../lib/ids.ts'
import { createMetrics } from '../lib/metrics.ts'
import { createSettings } from '../settings/settings.ts'
import { type Author, ChangeSet } from '../storage/change-set.ts'
import { Refusal } from '../storage/saved-store.ts'
import { retrying, type Store } from '../storage/store.ts'
import { bareAreas } from './bare-areas.ts'
import { createCommandLog } from './command-log.ts'
import { onStore } from './open-store.ts'
import { print } from './output.ts'
import { refusingFailures } from './refusals.ts'

interface Result {
  username: string
  password?: string
}

interface Work {
  store: Store
  offers: ReturnType<typeof bareAreas>['offers']
  author: Author
  account: AccountRecord
  username: string
}

const masterOf = async ({ records }: Store, { accounts }: Work['offers']) => {
  const holder = await records.claimant(masterClaim)
  const account = holder && (await accounts.find(holder.accountId))
  if (!account) throw new Refusal('no master account yet: the first start of the server creates it')
  return account
}

const adminOf = async ({ offers, account, username }: Work): Promise<UserRecord> => {
  const user = await offers.users.byUsername(account.id, username)
  if (user?.doc.priv_level === 'admin') return user
  throw new Refusal(`the account ${account.doc.name} has no admin named ${JSON.stringify(username)}`)
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

const problemsIn = (error: Failure) =>
  isFailure(error, validationError)
    ? Object.entries(error.details.problems).flatMap(([path, rules]) =>
        Object.values(rules).map(({ message }) => `${path}: ${message}`),
      )
    : [error.kind.name.replaceAll('_', ' ')]

const perform = (action: Action, username: string): Promise<Result> =>
  onStore(async ({ store, config }) => {
    const settings = createSettings(store.records, 'command')
    const hasher = createPasswordHasher({ settings, clock: systemClock, metrics: createMetrics() })
    const log = createCommandLog(config, 'warn')
    try {
      const { offers } = bareAreas({ store, settings, deriver: hasher, log })
      const author: Author = { requestId: newId(systemClock.now()), authMethod: 'command' }
      return await retrying(async () => {
        await store.fence()
        const account = await masterOf(store, offers)
        return actions[action]({ store, offers, author, account, username })
      })
    } finally {
      await hasher.stop()
    }
  })

export const changeAdmin = async (action: Action, name: string, asJson: boolean) => {
  const result = await refusingFailures(
    perform(action, name),
    (error) => `nothing was changed: ${problemsIn(error).join('; ')}`,
  )
  const { username, password } = result
  if (asJson) print(JSON.stringify(result))
  else if (password === undefined) print(`user ${username} may sign in`)
  else print(`user ${username}, password ${password}\nThis password is shown only once.`)
}
