import { isIP } from 'node:net'
import { hostname } from 'node:os'
import type { TSchema } from 'typebox'
import { Account } from './areas/accounts/accounts/schema.ts'
import { User } from './areas/accounts/users/schema.ts'
import type { Areas } from './areas/index.ts'
import { freshPassword } from './auth/credentials.ts'
import { masterClaim, startAuthor } from './auth/identity.ts'
import type { Config } from './config/config.ts'
import { createValidation } from './http/request/validation.ts'
import { Failure, hasProblems } from './lib/failure.ts'
import type { Json } from './lib/json.ts'
import { systemScope } from './storage/change-set.ts'
import { createCollection } from './storage/collection.ts'
import type { Store } from './storage/store.ts'

interface FirstAdmin {
  username: string
  /** Set if the password was not configured. */
  generated?: {
    /** Shown once. */
    password: string
    /** For one sign-in, which sets a password. */
    resetId: string | undefined
  }
}

/** To recognize the password of the first start. */
type MarkOf = (password: string) => number

const recordId = 'first_start'

const firstStarts = (store: Store) =>
  createCollection<object, { passwordMark: number }>(store, {
    kind: recordId,
    sortKey: () => '',
    row: () => ({}),
  })

const validated = <S extends TSchema>(schema: S, data: Json) => {
  const { value, problems } = createValidation(schema)(data)
  if (hasProblems(problems))
    throw new Error(`the first account cannot be created: ${JSON.stringify(problems)}`)
  return value
}

/** Host names of this machine. */
const publicHostsOf = ({ host }: Config) => [
  ...new Set([host, hostname()].filter((name) => isIP(name) === 0 && name.includes('.'))),
]

/** Creates the master account and its admin in an empty store; undefined if there is one. */
export const makeMaster = async (
  areas: Areas,
  store: Store,
  config: Config,
  markOf: MarkOf,
): Promise<FirstAdmin | undefined> => {
  if (await store.records.claimant(masterClaim)) return undefined
  const { adminPassword } = config
  const password = adminPassword ?? freshPassword()
  const starts = firstStarts(store)
  const content = { doc: {}, hidden: { passwordMark: markOf(password) } }
  const account = validated(Account, { name: config.masterAccount, realm: config.masterRealm })
  const admin = validated(User, {
    first_name: 'Account',
    last_name: 'Admin',
    username: config.adminUsername,
    password,
    priv_level: 'admin',
  })
  let resetId: string | undefined
  try {
    await areas.accounts.createMaster(startAuthor, account, masterClaim, async (set, master) => {
      const user = await areas.users.addTo(set, master, admin)
      if (adminPassword === undefined) resetId = (await areas.signIn.addFirstLink(set, user))?.resetId
      starts.insert(set, starts.draft(systemScope, content, recordId))
      const hosts = publicHostsOf(config)
      if (hosts.length > 0) areas.systemConfigs.addTo(set, 'crossbar', { default: { public_hosts: hosts } })
    })
  } catch (error) {
    // Another process created it first.
    if (error instanceof Failure && (await store.records.claimant(masterClaim))) return undefined
    throw error
  }
  const generated = adminPassword === undefined ? { generated: { password, resetId } } : {}
  return { username: config.adminUsername, ...generated }
}

/** Whether the configured password has no effect, because the first start had another one. */
export const isPasswordIgnored = async (store: Store, { adminPassword }: Config, markOf: MarkOf) => {
  if (adminPassword === undefined) return false
  const start = await firstStarts(store).find(systemScope, recordId)
  return start !== undefined && start.hidden.passwordMark !== markOf(adminPassword)
}
