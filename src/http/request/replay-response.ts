import { accountKind } from '../../auth/identity.ts'
import { Failure, failure, idempotencyConflict } from '../../lib/failure.ts'
import type { CommittedChange } from '../../storage/idempotency.ts'
import type { RequestContext } from '../exchange.ts'
import { ApiResponse } from '../response/responses.ts'
import type { Call, Route } from '../route.ts'
import { routeOf } from './router.ts'

// The response of a completed request was lost. The route's `again` repeats it, or it is read from what the request changed.

/** The route that reads a path, if its response has the same shape. */
const readerOf = ({ frame }: RequestContext, segments: readonly string[], { spec }: Route) => {
  const match = frame.router.find(segments)
  const found = match && routeOf(match, 'GET')
  if (!found || found.route.spec.list || found.route.spec.answers !== spec.answers) return undefined
  return found
}

const accountAt = async ({ frame, variables, account }: RequestContext, id: string | undefined) =>
  id === undefined || id === variables.account_id ? account : frame.store.records.find(id, accountKind, id)

const read = async (
  exchange: RequestContext,
  found: NonNullable<ReturnType<typeof readerOf>>,
  call: Call,
) => {
  const { route, path } = found
  const account = await accountAt(exchange, path.account_id)
  const { actor, frame } = exchange
  const mayRead = actor && (await route.spec.allow.allows(actor, account, path, frame.resellerOf))
  if (!mayRead) return undefined
  const reading = { ...call, path, account, request: { ...call.request, method: 'GET' } }
  const subject = await route.subject?.(reading as never)
  return route.run({ ...reading, subject } as never)
}

/** The created record, if it is one record with its own path. */
const readMade = async (
  exchange: RequestContext,
  route: Route,
  call: Call,
  changes: readonly CommittedChange[],
) => {
  const [id, another] = new Set(changes.flatMap((change) => (change.action === 'created' ? [change.id] : [])))
  const found =
    id === undefined || another !== undefined
      ? undefined
      : readerOf(exchange, [...exchange.segments, id], route)
  const result = found && (await read(exchange, found, call))
  return result instanceof ApiResponse && id !== undefined
    ? new ApiResponse({ ...result.fields, created: id })
    : undefined
}

const readChanged = async (exchange: RequestContext, route: Route, call: Call) => {
  const found = readerOf(exchange, exchange.segments, route)
  return found && read(exchange, found, call)
}

const unlessGone = async (answering: Promise<unknown>) => {
  try {
    return await answering
  } catch (error) {
    if (error instanceof Failure && error.answer.status === 404) return undefined
    throw error
  }
}

const answerOf = (
  exchange: RequestContext,
  route: Route,
  call: Call,
  changes: readonly CommittedChange[],
) => {
  if (route.again) return route.again(call, changes)
  return exchange.method === 'PUT'
    ? readMade(exchange, route, call, changes)
    : readChanged(exchange, route, call)
}

export const answerAgain = async (
  exchange: RequestContext,
  route: Route,
  call: Call,
  changes: readonly CommittedChange[],
) => {
  const result = await unlessGone(answerOf(exchange, route, call, changes))
  if (result !== undefined) return result
  const message = 'the request was completed, but its response is no longer available'
  throw failure(idempotencyConflict, { message, changes })
}
