import type { Problems } from '../../../lib/failure.ts'
import {
  type AuthModule,
  type AuthModuleName,
  type AuthModules,
  authModuleNames,
} from '../../../settings/auth-modules.ts'
import type { authSettings } from '../../../settings/documents.ts'
import type { SettingsOf } from '../../../settings/keys.ts'
import { mergeSections } from '../../../settings/sections.ts'

export type ModulePolicy = AuthModule &
  Required<
    Pick<AuthModule, 'enabled' | 'log_failed_attempts' | 'log_successful_attempts' | 'token_auth_expiry_s'>
  >

/** What the accounts below inherit of an account's settings: a second factor only if it includes them. */
export const handedDown = (modules: AuthModules): AuthModules => {
  const below: AuthModules = {}
  for (const name of authModuleNames) {
    const { multi_factor: factor, ...others } = modules[name] ?? {}
    if (modules[name]) below[name] = factor?.include_subaccounts === true ? modules[name] : others
  }
  return below
}

type SystemSettings = SettingsOf<typeof authSettings>

/** The system's settings of a way to sign in: its own, else those for all ways. */
const systemPolicy = (system: SystemSettings, name: AuthModuleName): ModulePolicy => {
  const { token_auth_expiry_s, log_failed_attempts, log_successful_attempts, auth_modules } = system
  const usual = { token_auth_expiry_s, log_failed_attempts, log_successful_attempts }
  return { enabled: true, ...usual, ...auth_modules[name] }
}

/** Laid over each other: the system below, then the ancestors' layers (nearest last), the account's own on top. */
export const policyOf = (
  name: AuthModuleName,
  system: SystemSettings,
  layers: readonly AuthModules[],
): ModulePolicy =>
  mergeSections(systemPolicy(system, name), ...layers.map((layer) => layer[name])) as unknown as ModulePolicy

export const mergedModules = (system: SystemSettings, layers: readonly AuthModules[]): AuthModules =>
  Object.fromEntries(authModuleNames.map((name) => [name, policyOf(name, system, layers)]))

type FindProvider = (accountId: string, id: string) => Promise<unknown>

const problem = (name: string, key: string, rule: string, message: string, cause?: unknown): Problems => ({
  [`auth_modules.${name}.${key}`]: { [rule]: { message, ...(cause === undefined ? {} : { cause }) } },
})

/** What is wrong with the second factor of one way to sign in. `tree` holds the account itself too. */
export const factorProblems = async (
  name: AuthModuleName,
  settings: AuthModule | undefined,
  tree: readonly string[],
  find: FindProvider,
): Promise<Problems> => {
  const { configuration_id: id, account_id: accountId } = settings?.multi_factor ?? {}
  if (id !== undefined && accountId === undefined)
    return problem(name, 'account_id', 'required', 'Field is required but missing')
  if (accountId !== undefined && !tree.includes(accountId)) {
    return problem(name, 'account_id', 'forbidden', 'Must be the account or one above it', accountId)
  }
  if (id === undefined || accountId === undefined || (await find(accountId, id))) return {}
  return problem(name, 'configuration_id', 'not_found', 'There is no such provider', id)
}
