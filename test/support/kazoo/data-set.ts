// A small Kazoo with every trap that an import has to know, of both generations and older. The cases are
// numbered. Further documents that a case needs have number 0.
import type { KazooDocument } from '../../../import-kazoo/documents/document.ts'
import { isObject, type Json } from '../../../src/lib/json.ts'
import type { Sample } from './sample.ts'
import { accountSamples } from './samples/accounts.ts'
import { callSamples } from './samples/calls.ts'
import { moneySamples } from './samples/money.ts'
import { numberSamples } from './samples/numbers.ts'
import { peopleSamples } from './samples/people.ts'
import { settingSamples } from './samples/settings.ts'

const all: readonly Sample[] = [
  ...accountSamples,
  ...peopleSamples,
  ...numberSamples,
  ...callSamples,
  ...moneySamples,
  ...settingSamples,
]

/** A sample as conversions are given it. */
export const asDocument = ({ database, id, rev, text, losers }: Sample): KazooDocument => {
  const parsed: unknown = JSON.parse(text)
  const fields: Json = isObject(parsed) ? parsed : {}
  return {
    database,
    id,
    rev,
    text,
    conflicts: losers.map((loser) => loser.rev),
    fields,
    type: typeof fields.pvt_type === 'string' ? fields.pvt_type : '',
  }
}

/** The sample of this name, with its files: `user_md5_only`. */
export const sampleNamed = (name: string): Sample => {
  const found = all.find((one) => one.name === name)
  if (!found) throw new Error(`the sample system has no document ${name}`)
  return found
}

export const documentNamed = (name: string): KazooDocument => asDocument(sampleNamed(name))

/** The documents of a numbered case. */
export const documentsOfCase = (row: number): KazooDocument[] =>
  all.filter((one) => one.row === row).map(asDocument)

/** All documents of a database, by its decoded name. */
export const documentsIn = (database: string): KazooDocument[] =>
  all.filter((one) => one.database === database).map(asDocument)

/**
 * All databases with their documents. Case 70, whose foreign connection stops an import, is left out unless it is asked
 * for.
 */
export const dataSet = ({ withForeignStorage = false } = {}): ReadonlyMap<string, readonly Sample[]> =>
  Map.groupBy(
    all.filter(({ row }) => withForeignStorage || row !== 70),
    ({ database }) => database,
  )

/** What must never be shown: digests, keys, passwords of phones and of others. */
export const secretsOfSamples = (): string[] => {
  const secretKeys =
    /^(?:pvt_md5_auth|pvt_sha1_auth|pvt_api_key|pvt_signature_secret|password|secret_key|integration_key)$/
  const within = (value: unknown): string[] =>
    Array.isArray(value)
      ? value.flatMap(within)
      : isObject(value)
        ? Object.entries(value).flatMap(([key, inner]) =>
            secretKeys.test(key) && typeof inner === 'string' ? [inner] : within(inner),
          )
        : []
  return [...new Set(all.flatMap(({ text, losers }) => [text, ...losers.map((one) => one.text)]))]
    .flatMap((text) => within(JSON.parse(text)))
    .filter((secret, at, secrets) => secrets.indexOf(secret) === at)
}
