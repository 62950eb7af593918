import { isFromAllowedNetwork, isInScope, letsPass, type ScopeRequest } from '../../auth/api-keys.ts'
import type { Credential } from '../../auth/authenticate.ts'
import type { AccountRecord, Actor } from '../../auth/identity.ts'
import { isThroughAllowedProxy, type Policy, proxyRefusal } from '../../auth/policies.ts'
import {
  failure,
  forbidden,
  invalidCredentials,
  type Problems,
  preconditionFailed,
  valueShown,
} from '../../lib/failure.ts'
import { isObject } from '../../lib/json.ts'
import { memberOf } from '../../lib/member.ts'
import type { crossbarSettings } from '../../settings/documents.ts'
import type { SettingsOf } from '../../settings/keys.ts'
import { type Warning, warningsAt } from '../../settings/unknown-keys.ts'
import { StoredRecord } from '../../storage/records.ts'
import type { RequestContext, ServerContext } from '../exchange.ts'
import { filterNamesIn } from '../response/filters.ts'
import type { Route } from '../route.ts'

// Authorization, preconditions, query checks and prices, also for WebSocket connections.

interface Visit {
  frame: ServerContext
  crossbar: SettingsOf<typeof crossbarSettings>
  clientAddress: string
  peerAddress: string
}

interface AccessCheck {
  actor: Actor
  account: AccountRecord | undefined
  path: Readonly<Record<string, string>>
  allow: Policy
  access: ScopeRequest['access']
  rule: ScopeRequest['rule']
  method: string
  /** The word that scopes and restrictions use, and what follows it in the path. */
  endpoint: string
  endpointArguments: readonly string[]
}

/** The reason is only logged. */
export const badCredential = (reason: string) => failure(invalidCredentials, {}, reason)

export const accessDenied = (cause: string) => failure(forbidden, { cause }, cause)

export const admit = async (visit: Visit, credential: Credential): Promise<Actor> => {
  const { frame, crossbar, clientAddress, peerAddress } = visit
  const pledge = () => frame.throttle.pledgeSignIn(clientAddress, crossbar)
  const actor = await frame.authenticate(credential, { clientAddress, pledge })
  for (const one of [actor, ...(actor.impersonators ?? [])]) {
    if (one.key && !isFromAllowedNetwork(one.key, clientAddress))
      throw badCredential('the API key is not valid from this network')
    if (!isThroughAllowedProxy(one, peerAddress)) throw accessDenied(proxyRefusal)
  }
  return actor
}

const assertInScope = ({ actor, endpoint, access, rule }: AccessCheck) => {
  const { key, scopes, hasReplacedKey } = actor
  if (hasReplacedKey && (rule === 'unlimited' || rule === 'none'))
    throw accessDenied('the API key that opened this session was replaced')
  const asked = { area: endpoint, access, rule }
  if (key && !isInScope(key, asked)) throw accessDenied('access denied by the scope of the API key')
  if (scopes && !letsPass(scopes, asked)) throw accessDenied('access denied by the scope of the token')
}

/** Checks scopes, restrictions and the policy of the route. */
export const assertAllowed = async (frame: ServerContext, question: AccessCheck) => {
  const { actor, account, path, allow } = question
  assertInScope(question)
  if (!(await frame.isUnrestricted(question))) throw accessDenied('access denied by token restrictions')
  if (!(await allow.allows(actor, account, path, frame.resellerOf)))
    throw accessDenied(`may be called by: ${allow.name}`)
}

const tagsOf = (header: string) =>
  header.split(',').map((tag) => tag.trim().replace(/^W\//, '').replace(/^"|"$/g, ''))

export const revisionOf = (subject: unknown) => {
  const revision =
    typeof subject === 'object' && subject !== null && 'revision' in subject && subject.revision
  return typeof revision === 'string' ? revision : undefined
}

/** An ETag may have more after the revision. */
const checkRevision = (exchange: RequestContext, subject: unknown) => {
  const header = exchange.header('if-match')
  const revision = revisionOf(subject)
  if (header === undefined || revision === undefined) return
  const fits = tagsOf(header).some((tag) => tag === '*' || tag === revision || tag.startsWith(`${revision}-`))
  if (!fits) throw failure(preconditionFailed, {})
}

/**
 * If-None-Match: * means that the client found nothing. PUT creates at a path that does not exist, and actions store nothing.
 */
const checkAbsence = (exchange: RequestContext, { spec, path }: Route, subject: unknown) => {
  if (exchange.header('if-none-match')?.trim() !== '*' || exchange.method === 'PUT') return
  const isKept = spec.isKept?.(subject) ?? (path.endsWith('}') && revisionOf(subject) !== undefined)
  if (isKept) throw failure(preconditionFailed, {})
}

export const checkPreconditions = (exchange: RequestContext, route: Route, subject: unknown) => {
  if (exchange.method === 'GET' || exchange.method === 'HEAD') return
  checkRevision(exchange, subject)
  checkAbsence(exchange, route, subject)
}

const flagValues: readonly unknown[] = [undefined, null, '', true, false, 'true', 'false']

/** Flags are in the query or in the body. */
const flagProblems = ({ spec }: Route, exchange: RequestContext): Problems =>
  Object.fromEntries(
    Object.entries({ ...spec.query, ...spec.wishes }).flatMap(([name, described]) => {
      if (typeof described === 'string') return []
      const sent = exchange.value(name)
      if (flagValues.includes(sent)) return []
      return [[name, { type: { message: 'Must be true or false', target: 'boolean', ...valueShown(sent) } }]]
    }),
  )

const boundNames = ['created_from', 'created_to', 'modified_from', 'modified_to']

/** Routes that add up a time window have `created_from` and are not lists. */
const isSum = ({ spec }: Route) => !spec.list && spec.query !== undefined && 'created_from' in spec.query

const boundProblems = (route: Route, query: URLSearchParams): Problems => {
  if (route.method !== 'GET' || !isSum(route)) return {}
  const message = 'Sums are over the time of creation. Send created_from and created_to'
  const sent = ['modified_from', 'modified_to'].filter((name) => query.get(name))
  return Object.fromEntries(sent.map((name) => [name, { forbidden: { message } }]))
}

export const queryProblems = (route: Route, exchange: RequestContext): Problems => ({
  ...flagProblems(route, exchange),
  ...boundProblems(route, exchange.query),
})

/** Filters and time bounds without effect. Web clients send them everywhere, so they are not an error. */
export const queryWarnings = ({ method, spec }: Route, query: URLSearchParams): Warning[] => {
  if (query.size === 0 || method !== 'GET' || spec.list) return []
  const sent = [...filterNamesIn(query), ...boundNames.filter((name) => query.get(name))]
  const names = sent.filter((name) => !Object.hasOwn(spec.query ?? {}, name))
  return warningsAt(
    names.map((name) => [name]),
    'This has no effect: only lists have filters',
  )
}

// Lists of records are stored one by one, and not validated and returned as a whole.
const manyTimes = 10

/** The factor for values and price of a body. */
export const shareOf = ({ route }: RequestContext) => (route?.spec.takesMany ? manyTimes : 1)

export const resourceOf = ({ route, segments }: RequestContext) => {
  const at = route?.resourceAt ?? 1
  const endpointArguments: readonly string[] = route ? segments.slice(at + 1) : []
  return { endpoint: segments[at] ?? '', endpointArguments }
}

const isAnyIn = (data: unknown, keys: readonly string[]) =>
  keys.some((key) => memberOf(data, key) !== undefined)

export const payTokens = async (exchange: RequestContext) => {
  const { frame, crossbar, route, clientAddress, account, actor, method } = exchange
  const { endpoint } = resourceOf(exchange)
  // Public reads are free.
  const readsPublic = !actor && (method === 'GET' || method === 'HEAD')
  const price = route?.spec.price
  // A body that is not read yet counts as if it had the secret.
  const bringsSecret =
    price?.is === 'secret' && (exchange.waitingBody !== undefined || isAnyIn(exchange.body.data, price.keys))
  const fare = { clientAddress, accountId: account?.id, endpoint, method, readsPublic, bringsSecret }
  exchange.tokens = await frame.throttle.pay(fare, price, crossbar)
}

const payForBytes = async (exchange: RequestContext, bytes: number) => {
  const { frame, crossbar, clientAddress, account, tokens, paidBytes } = exchange
  const fare = { clientAddress, accountId: account?.id, bytes, paidBytes }
  exchange.tokens = await frame.throttle.payForBytes(fare, crossbar, tokens)
  exchange.paidBytes = Math.max(paidBytes, bytes)
}

/** Charges for the bytes beyond those of a small body. */
export const payForBody = (exchange: RequestContext, length: number) => {
  const { unjudged_body_size: unjudged } = exchange.crossbar
  return payForBytes(exchange, unjudged + Math.ceil(Math.max(0, length - unjudged) / shareOf(exchange)))
}

const recordIn = (
  subject: unknown,
  account: AccountRecord | undefined,
): Pick<StoredRecord, 'docText'> | undefined => {
  if (subject instanceof StoredRecord) return subject
  if (account !== undefined && revisionOf(subject) === account.revision) return account
  const records = Object.values(isObject(subject) ? subject : {}).filter(
    (part) => part instanceof StoredRecord,
  )
  return records.find(({ revision }) => revision === revisionOf(subject)) ?? records[0]
}

// At most three bytes of UTF-8 for each UTF-16 unit.
const maxBytesOfCharacter = 3

/**
 * A change of a large record costs as much as a large body, because the whole record is validated, returned and stored.
 * A body of that size has paid for both.
 */
export const payForRecord = async (exchange: RequestContext, subject: unknown) => {
  const { method, crossbar, account } = exchange
  if (method === 'GET' || method === 'HEAD') return
  const record = recordIn(subject, account)
  if (!record || record.docText.length * maxBytesOfCharacter <= crossbar.unjudged_body_size) return
  await payForBytes(exchange, Buffer.byteLength(record.docText))
}
