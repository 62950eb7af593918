import { findCredential } from '../auth/authenticate.ts'
import { type AccountRecord, type Actor, accountKind } from '../auth/identity.ts'
import { anyone } from '../auth/policies.ts'
import {
  Failure,
  failure,
  gone,
  hasProblems,
  invalid,
  invalidCredentials,
  invalidMethod,
  isOutage,
  notAcceptable,
  notFound,
  recordTooLarge,
  tooLarge,
  unsupportedMediaType,
} from '../lib/failure.ts'
import { isId } from '../lib/ids.ts'
import { valuesIn } from '../lib/json-values.ts'
import { createKeyedQueue } from '../lib/one-at-a-time.ts'
import { percentDecoded } from '../lib/utf8.ts'
import { crossbarSettings } from '../settings/documents.ts'
import { isConflict, retrying } from '../storage/store.ts'
import { authorOf, type RequestContext, requireQuoteId } from './exchange.ts'
import {
  accessDenied,
  admit,
  assertAllowed,
  badCredential,
  checkPreconditions,
  payForBody,
  payForRecord,
  payTokens,
  queryProblems,
  queryWarnings,
  resourceOf,
  revisionOf,
  shareOf,
} from './request/checks.ts'
import { answerAgain } from './request/replay-response.ts'
import { methodsOf, routeOf, segmentsOf, unbuiltIn } from './request/router.ts'
import { proposed, validateData } from './request/validate-data.ts'
import { planList } from './response/listing.ts'
import { respond, sendLive } from './response/respond.ts'
import { ListResponse, LiveResponse } from './response/responses.ts'
import { inTurn, sendCached, sendEmpty } from './response/sending.ts'
import type { Call, Method, Route } from './route.ts'
import { contentTypeOf, isJsonBody, openContent, streamBody } from './transport/bodies.ts'
import { hasBody, readSmallBody, type WaitingBody } from './transport/body-bytes.ts'
import { canonicalPeer, clientAddress, targetOf, trustedProxies } from './transport/client-address.ts'
import { preferredType, takesType } from './transport/media.ts'

type Step = (exchange: RequestContext) => void | Promise<void>

const answerPreflight: Step = (exchange) => {
  if (exchange.method !== 'OPTIONS') return
  const match = exchange.frame.router.find(segmentsOf(exchange.path) ?? [])
  sendEmpty(exchange, 200, match ? { allow: methodsOf(match).join(', ') } : {})
}

const badPath = (message: string) => invalid({ path: { invalid: { message, target: 'path' } } })

const cutPath: Step = (exchange) => {
  if (!exchange.path.startsWith('/')) throw badPath('The path must begin with a slash')
  const segments = segmentsOf(exchange.path)
  if (!segments) throw badPath('The path is not valid percent-encoding')
  exchange.segments = segments
  // Node rejects queries with non-ASCII bytes. URLSearchParams would replace invalid UTF-8.
  percentDecoded(exchange.search, 'query')
  if (segments[0] === 'v1') throw failure(gone, {})
  if (segments[0] !== 'v2') throw failure(notFound, {})
}

export const readSettings: Step = async (exchange) => {
  const { store, settings } = exchange.frame
  await store.fence()
  exchange.crossbar = await settings.of(crossbarSettings)
}

export const findClientAddress: Step = (exchange) => {
  const { crossbar, request } = exchange
  const address = clientAddress({
    peer: request.socket.remoteAddress,
    forwardedFor: exchange.header('x-forwarded-for'),
    trustedProxies: trustedProxies(crossbar.reverse_proxies),
    checkProxies: crossbar.check_reverse_proxies,
  })
  exchange.clientAddress = address ?? 'no_ip'
  exchange.peerAddress = canonicalPeer(request.socket.remoteAddress ?? '')
}

/** Whether the route reads the body itself. Known before authentication. */
const isStreamed = ({ frame, segments, method, request }: RequestContext) => {
  const place = segments[1] === 'account' ? ['v2', 'accounts', '', ...segments.slice(2)] : segments
  const match = frame.router.find(place)
  const types = match && routeOf(match, method)?.route.spec.streams
  return types !== undefined && hasBody(request) && takesType(contentTypeOf(request), types)
}

const tunnelled: readonly Method[] = ['PUT', 'POST', 'PATCH', 'DELETE', 'GET']

const verbIn = (verb: unknown) => {
  const wanted = typeof verb === 'string' ? verb.toUpperCase() : undefined
  return tunnelled.find((one) => one === wanted)
}

const methodMeant = ({ method, body, query }: RequestContext) =>
  method === 'POST' ? (verbIn(body.envelope.verb ?? query.get('verb')) ?? method) : method

const takeContent = (exchange: RequestContext, bytes: Buffer) => {
  const { request, crossbar, frame } = exchange
  const limits = { values: shareOf(exchange) * crossbar.max_body_values, fields: crossbar.max_form_fields }
  exchange.body = openContent(request, bytes, limits, frame.clock)
  if (exchange.body.lacksData && methodMeant(exchange) !== 'DELETE')
    throw invalid({ data: { required: { message: 'Field is required but missing', value: 'data' } } })
}

const readUnjudged = async (exchange: RequestContext) => {
  const { request, crossbar } = exchange
  const limits = { unjudged: crossbar.unjudged_body_size, whole: crossbar.max_upload_size }
  const read = await readSmallBody(request, limits)
  if (Buffer.isBuffer(read)) takeContent(exchange, read)
  else exchange.waitingBody = read
}

/** The size of a compressed body does not limit its content. */
const refuseEncoded = ({ headers }: RequestContext['request']) => {
  const encoding = headers['content-encoding']?.trim().toLowerCase() || 'identity'
  if (encoding === 'identity') return
  const message = 'bodies with a Content-Encoding are not accepted: send the body uncompressed'
  throw failure(unsupportedMediaType, { accepted: ['identity'], message })
}

/** A small body is read now, because it may contain the token and the verb. Larger ones wait for authorization. */
const openBody: Step = (exchange) => {
  const { request, crossbar, frame } = exchange
  if (!hasBody(request)) return
  refuseEncoded(request)
  if (!isStreamed(exchange)) return readUnjudged(exchange)
  exchange.body = streamBody(request, crossbar.max_streamed_size, frame.clock)
}

const takeVerb: Step = (exchange) => {
  exchange.method = methodMeant(exchange)
}

/** A bad credential only matters if the route needs one. */
const authenticate: Step = async (exchange) => {
  const { envelope } = exchange.body
  const credential = findCredential({ headers: exchange.request.headers, envelope, query: exchange.query })
  exchange.credential = credential
  if (!credential) return
  try {
    const actor = await admit(exchange, credential)
    if (actor.key) exchange.frame.noteKeyUse(actor.key)
    exchange.actor = actor
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    exchange.refusal = error
  }
}

const lacksCredential = ({ waitingBody }: RequestContext) => {
  if (!waitingBody) return badCredential('no credentials')
  const message = `a body of more than ${waitingBody.unjudged} bytes needs its credential in a header or in the query`
  return failure(invalidCredentials, { data: { message } }, 'no credentials')
}

const expandAlias: Step = (exchange) => {
  if (exchange.segments[1] !== 'account') return
  if (!exchange.actor) throw exchange.refusal ?? lacksCredential(exchange)
  exchange.segments = ['v2', 'accounts', exchange.actor.accountId, ...exchange.segments.slice(2)]
}

const matchRoute: Step = (exchange) => {
  const { router } = exchange.frame
  exchange.match = router.find(exchange.segments)
  const found = exchange.match && routeOf(exchange.match, exchange.method)
  if (!found) return
  exchange.route = found.route
  exchange.variables = found.path
}

const isPublic = (exchange: RequestContext) => exchange.route?.spec.allow.needsToken === false

/** Also of unknown paths below an account: the request pays from the account's bucket. */
const accountIdIn = ({ variables, segments }: RequestContext) =>
  variables.account_id ?? (segments[1] === 'accounts' ? segments[2] : undefined)

const findAccount: Step = async (exchange) => {
  const id = accountIdIn(exchange)
  if (id === undefined || !isId(id)) return
  exchange.account = await exchange.frame.store.records.find(id, accountKind, id)
}

const refuseUnknownPaths: Step = (exchange) => {
  const { match, route, actor, refusal, segments, frame } = exchange
  if (route) return
  if (refusal) throw refusal
  if (match) throw failure(invalidMethod, { allow: methodsOf(match) })
  if (!actor && !frame.router.knows(segments[1] ?? '')) throw badCredential('no credentials')
  const unbuilt = unbuiltIn(segments.slice(1))
  throw failure(notFound, unbuilt === undefined ? {} : { message: `${unbuilt} is not part of Crosspoint` })
}

const findDeparted: Step = (exchange) => {
  const { variables, account, actor, route, frame } = exchange
  const id = variables.account_id
  if (account || !actor || id === undefined || !isId(id) || !route?.spec.outlivesAccount) return
  return frame.departedAccount(id).then((departed) => {
    exchange.account = departed
  })
}

/** An unknown account gets the response of a bad credential, so that ids cannot be probed. */
const requireAccount: Step = (exchange) => {
  if (isPublic(exchange) && !exchange.actor) return
  if (exchange.refusal) throw exchange.refusal
  if (exchange.variables.account_id !== undefined && !exchange.account)
    throw badCredential('there is no such account')
}

const requireActor: Step = (exchange) => {
  if (isPublic(exchange)) return
  if (!exchange.actor) throw lacksCredential(exchange)
  const asserted = exchange.header('x-auth-account-id')
  if (asserted !== undefined && asserted !== exchange.actor.accountId)
    throw badCredential('the token is of another account')
}

/** A token with a purpose opens nothing else. */
const holdToPurpose: Step = (exchange) => {
  const { actor, route } = exchange
  const purpose = actor?.claims?.purpose
  if (purpose === undefined || !route) return
  if (isPublic(exchange)) exchange.actor = undefined
  else if (route.spec.servesPurpose !== purpose) {
    throw accessDenied('the token can only be used to set a new password')
  }
}

const authorize: Step = (exchange) => {
  const { actor, route, account, variables, frame, method } = exchange
  if (!actor || !route || route.spec.allow === anyone) return
  const { allow, acts, namedKeys: rule } = route.spec
  const reads = method === 'GET' || method === 'HEAD'
  return assertAllowed(frame, {
    actor,
    account,
    path: variables,
    allow,
    access: reads && !acts ? 'read' : 'write',
    rule,
    method: method === 'HEAD' ? 'GET' : method,
    ...resourceOf(exchange),
  })
}

const envelopeValues = 100

/** Rejects a body with more values than any record may have before it is parsed. */
const assertFitsRecord = async (exchange: RequestContext, bytes: Buffer) => {
  const { route, frame, request } = exchange
  if (!route?.spec.body || route.spec.judgesItself || route.spec.takesMany) return
  if (!isJsonBody(request, bytes)) return
  const limit = await frame.maxRecordValues()
  const values = valuesIn(bytes.toString('latin1'))
  if (values <= limit + envelopeValues) return
  const { endpoint: kind } = resourceOf(exchange)
  throw failure(recordTooLarge, { kind, what: 'values', count: values, limit })
}

/** Reads a large body after authorization and payment. */
const readWaiting = async (exchange: RequestContext, waitingBody: WaitingBody) => {
  const { actor, request } = exchange
  const { announced, unjudged } = waitingBody
  if (!actor) throw failure(tooLarge, { limit: unjudged })
  if (announced !== undefined) await payForBody(exchange, announced)
  const bytes = await waitingBody.read()
  if (announced === undefined) await payForBody(exchange, bytes.length)
  await assertFitsRecord(exchange, bytes)
  takeContent(exchange, bytes)
  const verb = request.method === 'POST' ? verbIn(exchange.body.envelope.verb) : undefined
  if (verb && verb !== exchange.method) {
    const message = `The verb of a body of more than ${unjudged} bytes must be in the query`
    throw invalid({ verb: { invalid: { message, value: verb } } })
  }
}

const openWaitingBody: Step = (exchange) =>
  exchange.waitingBody && readWaiting(exchange, exchange.waitingBody)

const mayBeKeyed = new Set(['PUT', 'POST', 'PATCH', 'DELETE'])

/** The owner of Idempotency-Keys: user or key, and how it signed in. */
const askerOf = ({ method, user, key, claims }: Actor) =>
  [method, user?.id, key?.id, claims?.original_account_id, claims?.original_owner_id]
    .map((part) => part ?? '')
    .join('/')

const claimKey: Step = (exchange) => {
  const { actor, route, method } = exchange
  const key = exchange.header('idempotency-key')
  if (key === undefined || !actor || !route || !mayBeKeyed.has(method) || route.spec.tellsOnce) return
  return claimFor(exchange, actor, key)
}

const claimFor = async (exchange: RequestContext, actor: Actor, key: string) => {
  const { method, body, request, frame } = exchange
  const parts = [method, targetOf(request), body.digest ?? '']
  const verdict = await frame.idempotency.judge({
    accountId: actor.accountId,
    asker: askerOf(actor),
    key,
    parts,
  })
  if ('kept' in verdict) return sendCached(exchange, verdict.kept)
  exchange.claim = verdict.claim
  exchange.lost = verdict.lost
}

const checkUpload: Step = ({ request, body, route }) => {
  if (!body.upload || !route) return
  const taken = route.spec.uploads ?? []
  const sent = contentTypeOf(request)
  if (!takesType(sent, taken) && !takesType(body.upload.contentType, taken)) {
    const { streams = [] } = route.spec
    throw failure(unsupportedMediaType, { accepted: ['application/json', ...taken, ...streams] })
  }
}

const negotiate: Step = (exchange) => {
  const { route } = exchange
  if (!route) return
  const wanted = exchange.value('accept') ?? exchange.header('accept')
  const made = ['application/json', ...(route.spec.list ? ['text/csv'] : []), ...(route.spec.produces ?? [])]
  if (typeof wanted !== 'string' || wanted === '*/*' || wanted === 'application/json') return
  const type = preferredType(wanted, made)
  if (type) exchange.accepts = type
  else if (!route.spec.acceptsAnything) throw failure(notAcceptable, { offered: made })
}

const checkQuery: Step = (exchange) => {
  const { route, query } = exchange
  if (!route) return
  const problems = queryProblems(route, exchange)
  if (hasProblems(problems)) throw invalid(problems)
  exchange.warnings = queryWarnings(route, query)
}

const planListing: Step = (exchange) => {
  const { route, query, crossbar } = exchange
  if (!route?.spec.list) return
  exchange.listPlan = planList(query, (name) => exchange.value(name), crossbar, route.spec.module)
}

const callOf = (exchange: RequestContext): Call => ({
  path: exchange.variables,
  data: undefined,
  sent: exchange.body.data,
  subject: undefined,
  // Policies ensure that these are set where a route reads them.
  account: exchange.account as AccountRecord,
  actor: exchange.actor as NonNullable<RequestContext['actor']>,
  visitor: exchange.actor,
  author: authorOf(exchange),
  query: exchange.query,
  envelope: exchange.body.envelope,
  upload: exchange.body.upload,
  stream: exchange.body.stream,
  request: {
    id: exchange.id,
    method: exchange.method,
    path: exchange.path,
    clientAddress: exchange.clientAddress,
    peerAddress: exchange.peerAddress,
    header: (name) => exchange.header(name),
    value: (name) => exchange.value(name),
    accepts: exchange.accepts,
  },
})

const readAgain = async (exchange: RequestContext) => {
  await exchange.frame.store.fence()
  await findAccount(exchange)
  requireAccount(exchange)
}

/** On request, waits until billing providers know the charges. */
const settleServices: Step = (exchange) => {
  const concerned = exchange.account ?? exchange.actor?.account
  if (!concerned || exchange.method === 'GET' || !exchange.isTrue('wait_for_service_update')) return
  return exchange.frame.settleServices([concerned.id, ...concerned.hidden.tree])
}

/** Repeated for responses that continue. */
const rights: readonly Step[] = [
  readSettings,
  authenticate,
  findAccount,
  requireAccount,
  requireActor,
  holdToPurpose,
  authorize,
]

const mayStill = async (exchange: RequestContext) => {
  exchange.actor = undefined
  exchange.refusal = undefined
  try {
    for (const step of rights) await step(exchange)
    return true
  } catch (error) {
    if (error instanceof Failure && !isOutage(error)) return false
    throw error
  }
}

const dataOf = (exchange: RequestContext, route: Route, call: Call): unknown => {
  const { body, judgesItself } = route.spec
  if (body && !judgesItself) return validateData(body, exchange, route, call)
  return exchange.body.data === undefined ? {} : proposed(exchange, route, undefined)
}

const runRoute = async (
  exchange: RequestContext,
  route: Route,
  call: Call,
  pay = payForRecord,
): Promise<unknown> => {
  call.subject = await route.subject?.(call)
  await pay(exchange, call.subject)
  call.data = await dataOf(exchange, route, call)
  checkPreconditions(exchange, route, call.subject)
  return route.spec.isLong ? inTurn(exchange, 'long', async () => route.run(call)) : route.run(call)
}

const paidAlready = async () => undefined

const oneAtATime = createKeyedQueue()

/**
 * Requests that lost a race for a record run one after the other: in parallel all except one would lose again.
 */
const runAgain = (exchange: RequestContext, route: Route, lost: Call) =>
  oneAtATime(exchange.path, () => {
    let [before, last] = [lost, lost]
    return retrying(
      async () => {
        await readAgain(exchange)
        before = last
        last = callOf(exchange)
        return runRoute(exchange, route, last, paidAlready)
      },
      2,
      () => revisionOf(before.subject) !== revisionOf(last.subject),
    )
  })

/** A lost write race starts again with the current record, so that PATCH and If-Match see it. A stream cannot be repeated. */
const carryOut = async (exchange: RequestContext, route: Route): Promise<unknown> => {
  requireQuoteId(exchange)
  const call = callOf(exchange)
  try {
    return await runRoute(exchange, route, call)
  } catch (error) {
    if (exchange.body.stream || !isConflict(error)) throw error
    return runAgain(exchange, route, call)
  }
}

const answer = (exchange: RequestContext, route: Route, result: unknown) => {
  if (result instanceof LiveResponse) return sendLive(exchange, result, () => mayStill(exchange))
  const { list = false } = route.spec
  if (list !== 'keyed' && result instanceof ListResponse !== list) {
    throw new Error(`${route.method} ${route.path} did not return the list that it declares`)
  }
  return respond(exchange, result)
}

const execute: Step = async (exchange) => {
  const { route, lost } = exchange
  if (!route) return
  const result = await (lost
    ? answerAgain(exchange, route, callOf(exchange), lost)
    : carryOut(exchange, route))
  await settleServices(exchange)
  await answer(exchange, route, result)
}

/** The order decides which error a client gets. */
const steps: readonly Step[] = [
  answerPreflight,
  cutPath,
  readSettings,
  findClientAddress,
  openBody,
  takeVerb,
  authenticate,
  expandAlias,
  matchRoute,
  findAccount,
  payTokens,
  refuseUnknownPaths,
  findDeparted,
  requireAccount,
  requireActor,
  holdToPurpose,
  authorize,
  openWaitingBody,
  claimKey,
  checkUpload,
  negotiate,
  checkQuery,
  planListing,
  execute,
]

export const runSteps = async (exchange: RequestContext) => {
  for (const step of steps) {
    const running = step(exchange)
    if (running) await running
    if (exchange.done) return
  }
}
