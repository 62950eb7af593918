import { hash } from 'node:crypto'

// Keys whose values never leave the place where they are used: not in the audit log, not in a log line.
const secretKey =
  /^(password|credentials|api_key|secret|.*_secret|private_key|pin|recovery_codes|authorization_header|.*_password)$/
const secretText =
  /"(?:password|credentials|api_key|secret|\w*_secret|private_key|pin|recovery_codes|authorization_header|\w*_password)":/

/** What stands in the place of a secret. */
export const masked = '***'

/** The same value with those of secret keys replaced. */
export const withoutSecrets = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(withoutSecrets)
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      key,
      secretKey.test(key) && inner !== null ? masked : withoutSecrets(inner),
    ]),
  )
}

/** The same JSON text with the values of secret keys replaced. Texts without such a key pass unparsed. */
export const maskSecrets = (json: string | undefined) =>
  json !== undefined && secretText.test(json) ? JSON.stringify(withoutSecrets(JSON.parse(json))) : json

export const isSecretKey = (key: string) => secretKey.test(key)

/** Tells whether a secret is the same as before, and nothing else about it. */
export const fingerprint = (secret: string) => hash('sha256', secret, 'hex').slice(0, 8)
