import { type ApiKeyDoc, excessOver, type KeyLimits } from '../../../auth/api-keys.ts'
import { networkProblems } from '../../../auth/policies.ts'
import type { Problems } from '../../../lib/failure.ts'

// A key names its record, so that it is found without being stored: `cpk_`, the record's id, and 168 bits of chance.
// Searches for leaked secrets know it by how it begins.
const prefix = 'cpk_'
const keyForm = /^cpk_([0-9a-f]{32})[A-Za-z0-9_-]{28}$/

/** Base64url of these many bytes has no bits to spare: each has one spelling. */
export const secretBytes = 21

export const keyText = (id: string, secret: Uint8Array) =>
  `${prefix}${id}${Buffer.from(secret).toString('base64url')}`

export const idInKey = (text: string): string | undefined => keyForm.exec(text)?.[1]

/** What a schema cannot check. An end that is not changed may have passed. */
export const keyProblems = (
  { networks, expires }: Partial<ApiKeyDoc>,
  { now, before }: { now: number; before: ApiKeyDoc | undefined },
): Problems => {
  const isPast = expires !== undefined && expires !== before?.expires && expires <= now
  const past = { minimum: { message: 'Must lie in the future', target: now, value: expires } }
  return {
    ...(networks ? networkProblems('networks', networks) : {}),
    ...(isPast ? { expires: past } : {}),
  }
}

export const beyondKey = 'An API key cannot create or change a key with more rights'
export const beyondScopes = 'A caller with scopes cannot create or change a key with more rights'

/** A caller cannot grant scopes that it does not have. */
export const excessProblems = (doc: KeyLimits, of: KeyLimits, message: string): Problems => {
  const excess = excessOver(doc, of)
  const refused = (cause: unknown) => ({ forbidden: { message, cause } })
  return {
    ...(excess.scopes.length > 0 ? { scopes: refused(excess.scopes) } : {}),
    ...(excess.expires ? { expires: refused(doc.expires) } : {}),
    ...(excess.networks ? { networks: refused(doc.networks) } : {}),
  }
}
