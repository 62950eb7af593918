// Access rules, written apart from the server's code, so that both do not share a
// fault.
import { hash } from 'node:crypto'
import type { Operation } from './routes.ts'
import type { WireAnswer, WireRequest } from './wire.ts'

/** How far a planted text may be seen. */
export const visibilities = ['priv', 'name', 'plan', 'conf', 'publ', 'secr'] as const
export type Visibility = (typeof visibilities)[number]

export interface Tenant {
  /** What its planted texts carry. */
  key: number
  /** For figures and stories. */
  title: string
  id: string
  parent: Tenant | undefined
  /** The accounts under which authorized callers may have moved it. */
  movedBelow?: Set<Tenant>
  isReseller: boolean
  isMaster: boolean
  /** Its records, by the variables of paths that name them. */
  ids: Record<string, string[]>
  /** Authorized callers change it during the run. */
  isPlayground: boolean
  /** Ends during a round, one way or the other. */
  isSpare: boolean
}

/**
 * A text that only records of one tenant contain. Lower case letters and digits: every normalization keeps it.
 */
export const planted = (tenant: Pick<Tenant, 'key'>, visibility: Visibility) =>
  `cnry${tenant.key}x${visibility}z`

/** A domain of one tenant. Its digest keeps requests with changed digits from claiming the domain of a later tenant. */
const domainOf = (tenant: Pick<Tenant, 'key'>, visibility: Visibility) => {
  const mark = planted(tenant, visibility)
  return `${mark}-${hash('sha256', mark, 'hex').slice(0, 12)}.test`
}

export const realmOf = (tenant: Pick<Tenant, 'key'>) => domainOf(tenant, 'name')

/** The host of a tenant's brand. No other tenant has a name below the one above it. */
export const brandHostOf = (tenant: Pick<Tenant, 'key'>) => `www.${domainOf(tenant, 'publ')}`

const plantedMark = Buffer.from('cnry')
const plantedText = /cnry(\d+)x([a-z]{4})z/gi

export interface Persona {
  title: string
  headers: Readonly<Record<string, string>>
  /** Undefined: no account, or a deleted one. */
  actor: Actor | undefined
  /** What it knows best: where its own requests go. */
  home: Tenant
  /**
   * Drawn once in this number of its turns: some requests cost tens of milliseconds of processor time, some
   * show little.
   */
  oneIn: number
}

interface Actor {
  tenant: Tenant
  kind: 'admin' | 'user' | 'key'
  userId: string | undefined
  /** Token restrictions allow it only to read users. */
  isRestricted: boolean
  /** Scopes of a named key: `devices:read`. */
  scopes?: readonly string[]
  /** The account's API key now. It has replaced the one that opened the session, so the caller must not read it. */
  newKey?: string
}

/** Two that were moved below each other in turn are below each other here: never the same one twice. */
export const isWithin = (tenant: Tenant, top: Tenant, passed: ReadonlySet<Tenant> = new Set()): boolean => {
  if (tenant === top) return true
  if (passed.has(tenant)) return false
  const above = [...(tenant.parent ? [tenant.parent] : []), ...(tenant.movedBelow ?? [])]
  return above.some((one) => isWithin(one, top, new Set([...passed, tenant])))
}

/** Whether a caller may access an account. */
export const sees = ({ actor }: Persona, tenant: Tenant) =>
  actor !== undefined && (actor.kind === 'user' ? tenant === actor.tenant : isWithin(tenant, actor.tenant))

const resellerAbove = (tenant: Tenant): Tenant | undefined =>
  tenant.parent && (tenant.parent.isReseller || tenant.parent.isMaster)
    ? tenant.parent
    : tenant.parent && resellerAbove(tenant.parent)

interface Question {
  actor: Actor
  target: Tenant | undefined
  userId: string | undefined
}

type Predicate = (question: Question) => boolean

/** What an account may do to others asks for one who speaks for it: an admin or its API key. */
const within: Predicate = ({ actor, target }) =>
  target !== undefined && (actor.kind === 'user' ? target === actor.tenant : isWithin(target, actor.tenant))
const isPersonAdmin: Predicate = ({ actor }) => actor.kind === 'admin'
const isAdmin: Predicate = ({ actor }) => actor.kind !== 'user'
const isMaster: Predicate = ({ actor }) => actor.tenant.isMaster && actor.kind !== 'user'
const isAbove: Predicate = (question) => within(question) && question.actor.tenant !== question.target

/** By the words that openapi.json has for them. */
const policies: Readonly<Record<string, Predicate>> = {
  anyone: () => true,
  'any token': () => true,
  'account or ancestor': within,
  'account or ancestor, or anyone where the record allows it': within,
  'admin of account or ancestor, or the owner of the record': within,
  'admin of account or ancestor': (asked) => within(asked) && isAdmin(asked),
  'admin user of account or ancestor': (asked) => within(asked) && isPersonAdmin(asked),
  'the user itself, or an admin of account or ancestor': (asked) =>
    within(asked) && (isPersonAdmin(asked) || asked.actor.userId === asked.userId),
  ancestor: (asked) => isMaster(asked) || isAbove(asked),
  'admin of an ancestor': (asked) => isAdmin(asked) && (isMaster(asked) || isAbove(asked)),
  'the reseller of the account': (asked) =>
    isAdmin(asked) &&
    asked.target !== undefined &&
    (isMaster(asked) || resellerAbove(asked.target) === asked.actor.tenant),
  'admin of a reseller: the account itself or above': (asked) =>
    isAdmin(asked) && within(asked) && (isMaster(asked) || asked.actor.tenant.isReseller),
  superduper: isMaster,
  'admin of a superduper account': (asked) => isMaster(asked) && isAdmin(asked),
  'admin of a superduper account, or above a reseller': (asked) => isAdmin(asked) && within(asked),
  'admin or API key of another, superduper account': (asked) =>
    isMaster(asked) && isAdmin(asked) && (asked.actor.kind === 'key' || isAbove(asked)),
  'admin of any account': isAdmin,
  'admin user of any account': isPersonAdmin,
  'the user itself': ({ actor, target, userId }) => actor.tenant === target && actor.userId === userId,
}

/** Policies without a rule in the model: add one when you add a policy. */
export const unknownPolicies = (operations: readonly Operation[]) => [
  ...new Set(operations.map(({ policy }) => policy).filter((policy) => !Object.hasOwn(policies, policy))),
]

/**
 * The operator's next request may move accounts to the one in its body. The response that shows whether it did
 * may arrive after other responses.
 */
export const noteMove = (
  { actor }: Persona,
  { path, body }: Pick<WireRequest, 'path' | 'body'>,
  tenants: Iterable<Tenant>,
) => {
  if (
    !actor ||
    !body ||
    !path.includes('/move') ||
    !isMaster({ actor, target: undefined, userId: undefined })
  )
    return
  const all = [...tenants]
  const places = all.filter(({ id }) => body.includes(id))
  for (const moved of all.filter(({ id }) => path.includes(id)))
    moved.movedBelow = new Set([...(moved.movedBelow ?? []), ...places])
}

/** The intention of a request. */
export interface Aim {
  /** Undefined: method or path were altered, so the matching route is unknown. */
  operation: Operation | undefined
  target: Tenant | undefined
  userId: string | undefined
}

const isFree = ({ policy }: Operation) => policy === 'anyone'

/** Whether no scope can permit it: none names an area in the path, or all that do permit reading alone. */
const isBeyond = (scopes: readonly string[], { method, path }: Operation) => {
  // Every caller may ask for its own identity.
  if (method === 'GET' && path === '/v2/token_auth') return false
  const words = path.split('/')
  const isPermitted = (scope: string) => {
    const [area = '', access] = scope.split(':')
    return words.includes(area) && (access === 'write' || method === 'GET')
  }
  return !scopes.some(isPermitted)
}

/** Undefined: the model does not know. */
const mayCall = ({ actor }: Persona, { operation, target, userId }: Aim) => {
  if (!operation || isFree(operation)) return undefined
  if (!actor) return operation.policy.includes('or anyone') ? undefined : false
  if (actor.isRestricted && !(operation.method === 'GET' && operation.path.includes('/users'))) return false
  if (actor.scopes && isBeyond(actor.scopes, operation)) return false
  if (operation.variables.includes('account_id') && !target) return undefined
  return policies[operation.policy]?.({ actor, target, userId })
}

const maySee = (persona: Persona, owner: Tenant, visibility: Visibility) => {
  if (visibility === 'publ') return true
  if (visibility === 'secr') return false
  if (sees(persona, owner)) return true
  const tenant = persona.actor?.tenant
  if (!tenant) return false
  // Messages of parent accounts are for their sub-accounts; ordinary users see the names of sub-accounts in
  // lists.
  return isWithin(tenant, owner) ? visibility !== 'priv' : isWithin(owner, tenant) && visibility === 'name'
}

/** Texts of others in an answer. A text that the request contains is not a leak: errors repeat what was sent. */
export const findLeaks = (
  persona: Persona,
  owners: ReadonlyMap<number, Tenant>,
  body: Buffer,
  sent: Buffer | undefined,
): string[] => {
  if (!body.includes(plantedMark)) return []
  const leaks = new Set<string>()
  const isEcho = (text: string) =>
    sent?.toString('latin1').toLowerCase().includes(text.toLowerCase()) === true
  for (const [text, key, word] of body.toString('latin1').matchAll(plantedText)) {
    const owner = owners.get(Number(key))
    const visibility = visibilities.find((one) => one === word?.toLowerCase())
    if (owner && visibility && !maySee(persona, owner, visibility) && !isEcho(text))
      leaks.add(`${text} of ${owner.title}`)
  }
  return [...leaks]
}

const isJson = ({ headers }: WireAnswer) =>
  headers.get('content-type')?.startsWith('application/json') === true

const parsed = (body: Buffer): Record<string, unknown> | undefined => {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'))
    return typeof value === 'object' && value !== null ? { ...value } : undefined
  } catch {
    return undefined
  }
}

/** The faults of a response's envelope. */
const envelopeFaults = ({ status, headers }: WireAnswer, envelope: Record<string, unknown> | undefined) => {
  if (!envelope) return ['an answer that says JSON and is none']
  const faults: string[] = []
  if (envelope.request_id !== headers.get('x-request-id')) faults.push('another request id inside')
  if (envelope.status !== (status < 400 ? 'success' : 'error')) faults.push('a status that does not fit')
  if (status >= 400 && (envelope.error !== String(status) || envelope.data === undefined))
    faults.push('an incomplete error')
  return faults
}

/** What the server must reject. */
export interface Refusal {
  /** The class of the request. */
  title: string
  /** If present, a success without this text in it is correct, too. */
  secret?: string
}

/** Whether the server accepted a request that it must reject. */
export const isAccepted = ({ secret }: Refusal, { status, body }: Pick<WireAnswer, 'status' | 'body'>) =>
  status < 400 && (secret === undefined || body.includes(secret))

export interface Circumstances {
  /** A backend of the database was killed moments ago. */
  isStoreCut: boolean
  isThrottled: boolean
}

const isNamed = (status: number, message: unknown, { operation }: Aim, { isStoreCut }: Circumstances) => {
  if (message === 'unspecified_fault') return false
  if (message === 'datastore_unreachable') return isStoreCut
  return operation === undefined || operation.faults.has(status)
}

/** Mails that prove an address, looks at domains and guesses of codes are few, whatever requests cost. */
const isSlowed = ({ operation }: Aim) =>
  operation === undefined || /\/(emails(\/.*)?|domains|multi_factor.*)$/.test(operation.path)

/** Bodies beyond this are read by their beginning only. */
const wholeBytes = 256 * 1024

export const judge = (
  persona: Persona,
  aim: Aim,
  method: string,
  answer: WireAnswer,
  circumstances: Circumstances,
): string[] => {
  const { status, headers, body } = answer
  const faults: string[] = []
  if (answer.mistake) faults.push(answer.mistake)
  if (headers.get('x-request-id') === undefined) faults.push('no request id')
  if (headers.get('access-control-allow-origin') !== '*') faults.push('no CORS headers')
  if (status === 429 && !circumstances.isThrottled && !isSlowed(aim))
    faults.push('throttled where nothing has a price')
  const looksAtBody = method !== 'HEAD' && status !== 304 && body.length > 0
  const isEnvelope = looksAtBody && isJson(answer)
  const envelope = isEnvelope && body.length < wholeBytes ? parsed(body) : undefined
  if (isEnvelope && body.length < wholeBytes) faults.push(...envelopeFaults(answer, envelope))
  if (status >= 400 && method !== 'HEAD' && !isEnvelope) faults.push('an error without an envelope')
  if (status >= 500 && method !== 'HEAD' && !isNamed(status, envelope?.message, aim, circumstances))
    faults.push(`${status} ${envelope?.message}`)
  if (status < 400 && method !== 'OPTIONS' && mayCall(persona, aim) === false)
    faults.push(`${persona.title} was let in: ${aim.operation?.policy}`)
  return faults
}
