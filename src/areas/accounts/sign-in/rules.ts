import type { DigestMethod } from '../../../auth/credentials.ts'
import { type Problems, valueShown } from '../../../lib/failure.ts'
import { digestMethods } from './schema.ts'

const known = (sent: unknown) => digestMethods.find((method) => method === sent)

export const methodMeant = (sent: unknown): DigestMethod => known(sent) ?? 'md5'

/** An unknown method is rejected: the digest was made by it. */
export const methodProblems = (sent: unknown): Problems => {
  if (sent === undefined || sent === null || known(sent)) return {}
  const message = 'Value not found in enumerated list of values'
  return { method: { enum: { message, target: digestMethods, ...valueShown(sent) } } }
}
