import type { IncomingMessage } from 'node:http'

/** Kinds of compression, the smallest first. */
export const encodings = ['br', 'gzip'] as const

export type Encoding = (typeof encodings)[number]

/** The smallest of those at hand that a client takes; undefined: it has to be sent as it is. */
export const encodingFor = (request: IncomingMessage, atHand: readonly Encoding[]): Encoding | undefined => {
  const accepted = String(request.headers['accept-encoding'] ?? '')
    .split(',')
    .filter((one) => !/;\s*q=0(\.0*)?\s*$/.test(one))
    .map((one) => one.split(';', 1)[0]?.trim().toLowerCase())
  return encodings.find((name) => atHand.includes(name) && accepted.includes(name))
}

/** What is sent compressed is not the same bytes, and has a tag of its own. */
export const tagOf = (etag: string, encoding: Encoding | undefined) =>
  encoding ? `${etag.slice(0, -1)}-${encoding}"` : etag

/** Whether a client has just what it asks for: a list of tags, or `*`. */
export const hasAlready = ({ headers }: IncomingMessage, etag: string) =>
  (headers['if-none-match'] ?? '')
    .split(',')
    .map((tag) => tag.trim().replace(/^W\//, ''))
    .some((tag) => tag === '*' || tag === etag)
