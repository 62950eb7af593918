import type { TSchema } from 'typebox'
import { Account } from './areas/accounts/schema.ts'
import type { Areas } from './areas/index.ts'
import { User } from './areas/users/schema.ts'
import type { Config } from './config/config.ts'
import { createValidation } from './http/judge/validation.ts'
import { Failure, hasProblems } from './lib/failure.ts'
import { randomKey } from './lib/ids.ts'
import type { Json } from './lib/json.ts'
import { type Author, systemScope } from './storage/change-set.ts'
import type { Store } from './storage/store.ts'

export const startAuthor: Author = { requestId: 'first-start' }

export interface FirstAdmin {
  username: string
  /** Set when it was made up: it is shown once and stored nowhere in clear. */
  generatedPassword?: string
}

/** The claim that the very first account holds: a store has one master account. */
const masterClaim = { scope: systemScope, name: 'master_account', value: 'master' }

const validated = <S extends TSchema>(schema: S, data: Json) => {
  const { value, problems } = createValidation(schema)(data)
  if (hasProblems(problems)) throw new Error(`the first account cannot be made: ${JSON.stringify(problems)}`)
  return value
}

/** Makes the master account and its admin in an empty store. Undefined when there is a master account already. */
export const makeMaster = async (
  areas: Areas,
  store: Store,
  config: Config,
): Promise<FirstAdmin | undefined> => {
  if (await store.records.claimant(masterClaim)) return undefined
  const password = config.adminPassword ?? randomKey(15).toString('base64url')
  const account = validated(Account, { name: config.masterAccount, realm: config.masterRealm })
  const admin = validated(User, {
    first_name: 'Account',
    last_name: 'Admin',
    username: config.adminUsername,
    password,
    priv_level: 'admin',
  })
  try {
    await areas.accounts.createMaster(startAuthor, account, masterClaim, async (set, master) => {
      await areas.users.addTo(set, master, admin)
    })
  } catch (error) {
    // Another process of the same store was faster: its admin is the one that counts.
    if (error instanceof Failure && (await store.records.claimant(masterClaim))) return undefined
    throw error
  }
  return { username: config.adminUsername, ...(config.adminPassword ? {} : { generatedPassword: password }) }
}
