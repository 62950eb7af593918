import { isoTime } from '../../lib/clock.ts'
import { evictOldest } from '../../lib/forget-oldest.ts'
import { RawJson } from './answers.ts'

/** The parts of every answer, as texts ready to be joined. */
export interface EnvelopeParts {
  data: unknown
  metadata?: Record<string, unknown> | RawJson | undefined
  revision?: string | undefined
  /** Further keys: `error`, `message`, paging keys. */
  extra?: Record<string, unknown>
  status: 'success' | 'error'
  requestId: string
  node: string
  now: number
  /** Only authenticated callers learn it. */
  version?: string | undefined
  authToken?: string | undefined
  tokens?: { consumed: number; remaining: number } | undefined
}

const dataText = (value: unknown) => (value instanceof RawJson ? value.text : JSON.stringify(value ?? {}))

const maxTokenMembers = 2000
const tokenMembers = new Map<string, string>()

/** Made once for each of the latest callers: their tokens have 700 letters, and each would be looked at for every answer. */
const tokenMember = (token: string) => {
  const known = tokenMembers.get(token)
  if (known !== undefined) return known
  const made = `,"auth_token":${JSON.stringify(token)}`
  tokenMembers.set(token, made)
  evictOldest(tokenMembers, maxTokenMembers)
  return made
}

/** The text of an envelope without the token that it tells, and where that stood. Nothing behind it looks like it. */
export const withoutToken = (text: string, token: string | undefined) => {
  const member = token === undefined ? '' : tokenMember(token)
  const at = member === '' ? -1 : text.lastIndexOf(member)
  return at < 0 ? { body: text } : { body: text.slice(0, at) + text.slice(at + member.length), tokenAt: at }
}

export const withToken = (text: string, at: number, token: string) =>
  text.slice(0, at) + tokenMember(token) + text.slice(at)

/** Everything after `data`: written last, so that a list can be streamed before its paging keys are known. */
export const envelopeTail = (parts: Omit<EnvelopeParts, 'data'>) => {
  const { metadata, revision, extra, status, requestId, node, now, version, authToken, tokens } = parts
  let tail = `,"metadata":${dataText(metadata)}`
  if (extra)
    for (const key in extra) if (extra[key] !== undefined) tail += `,"${key}":${JSON.stringify(extra[key])}`
  if (revision !== undefined) tail += `,"revision":${JSON.stringify(revision)}`
  if (tokens) tail += `,"tokens":{"consumed":${tokens.consumed},"remaining":${tokens.remaining}}`
  if (authToken !== undefined) tail += tokenMember(authToken)
  if (version !== undefined) tail += `,"version":"${version}"`
  return `${tail},"timestamp":"${isoTime(now)}","node":${JSON.stringify(node)},"request_id":${JSON.stringify(requestId)},"status":"${status}"}`
}

export const envelopeOf = ({ data, ...rest }: EnvelopeParts) =>
  `{"data":${dataText(data)}${envelopeTail(rest)}`
