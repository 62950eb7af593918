import { failure, preconditionFailed } from '../../lib/failure.ts'
import type { RequestContext } from '../exchange.ts'
import type { Route } from '../route.ts'

// Whether what a client has read, or did not find, is still so.

const tagsOf = (header: string) =>
  header.split(',').map((tag) => tag.trim().replace(/^W\//, '').replace(/^"|"$/g, ''))

export const revisionOf = (subject: unknown) => {
  const revision =
    typeof subject === 'object' && subject !== null && 'revision' in subject && subject.revision
  return typeof revision === 'string' ? revision : undefined
}

/** If-Match names the revision that the client read; an ETag may carry more behind it. */
const checkRevision = (exchange: RequestContext, subject: unknown) => {
  const header = exchange.header('if-match')
  const revision = revisionOf(subject)
  if (header === undefined || revision === undefined) return
  const fits = tagsOf(header).some((tag) => tag === '*' || tag === revision || tag.startsWith(`${revision}-`))
  if (!fits) throw failure(preconditionFailed, {})
}

/**
 * If-None-Match: * says that the client found nothing. What PUT makes stands at a path that is not there yet, and actions
 * keep nothing at theirs.
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
