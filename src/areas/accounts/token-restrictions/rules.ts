// Restrictions of the system settings were not validated by a schema: unreadable ones deny.

import { memberOf } from '../../../lib/member.ts'

export interface RestrictedRequest {
  /** `restrictions` of the account's document, or of the system's when the account has none. */
  restrictions: unknown
  authMethod: string
  /** Undefined for tokens without a user (API keys): they count as admin. */
  privLevel: string | undefined
  /** Last resource name of the path, and what follows it. */
  endpoint: string
  endpointArguments: readonly string[]
  method: string
  accountId: string | undefined
  authAccountId: string
  /** Whether the account in the path is below the token's. */
  isDescendant: boolean
}

const sectionOf = (value: unknown, key: string): unknown => memberOf(value, key) ?? memberOf(value, '_')

const includes = (list: unknown, ...texts: readonly string[]) =>
  Array.isArray(list) && texts.some((text) => list.includes(text))

const namesOfAccount = ({ accountId, authAccountId, isDescendant }: RestrictedRequest) => {
  if (accountId === undefined) return ['_']
  if (accountId === authAccountId) return ['_', accountId, '{AUTH_ACCOUNT_ID}']
  return isDescendant ? ['_', accountId, '{DESCENDANT_ACCOUNT_ID}'] : ['_', accountId]
}

const coversAccount = (element: unknown, names: readonly string[]) => {
  const allowed = memberOf(element, 'allowed_accounts')
  return allowed === undefined || includes(allowed, ...names)
}

/** Matches `/`-separated words, `*` one argument, `#` any number. Only the last `#` is widened, so cost stays bounded. */
export const matchesArguments = (pattern: string, given: readonly string[]): boolean => {
  const parts = pattern.split('/').filter((part) => part !== '')
  let part = 0
  let argument = 0
  let wide: { part: number; argument: number } | undefined
  while (argument < given.length) {
    if (parts[part] === '#') {
      wide = { part: part++, argument }
    } else if (parts[part] === '*' || parts[part] === given[argument]) {
      part++
      argument++
    } else if (wide) {
      part = wide.part + 1
      argument = ++wide.argument
    } else return false
  }
  return parts.slice(part).every((rest) => rest === '#')
}

const methodsOf = (rules: unknown, given: readonly string[]): unknown => {
  if (typeof rules !== 'object' || rules === null) return undefined
  // In the order of the document, but keys that are whole numbers come first in any JavaScript object.
  const match = Object.entries(rules).find(([pattern]) => matchesArguments(pattern, given))
  return match?.[1]
}

/** Without a section for the method and level all is allowed; with one, the first matching element and pattern decide. */
export const isAllowedByRestrictions = (request: RestrictedRequest): boolean => {
  const ofMethod = sectionOf(request.restrictions, request.authMethod)
  const ofLevel = sectionOf(ofMethod, request.privLevel ?? 'admin')
  if (ofLevel === undefined) return true
  const elements = sectionOf(ofLevel, request.endpoint)
  if (!Array.isArray(elements)) return false
  const names = namesOfAccount(request)
  const element: unknown = elements.find((candidate) => coversAccount(candidate, names))
  const methods = methodsOf(memberOf(element, 'rules'), request.endpointArguments)
  return includes(methods, '_', request.method === 'HEAD' ? 'GET' : request.method)
}
