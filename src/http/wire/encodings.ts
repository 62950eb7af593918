import type { IncomingMessage } from 'node:http'

/** Kinds of compression of which files are at hand, the smallest first. */
export const encodings = ['br', 'gzip'] as const

export type Encoding = (typeof encodings)[number]

/** What a client would like: how much of each coding, and whether it takes what is not coded. */
interface Acceptance {
  /** From 0, not at all, to 1. */
  weightOf(coding: string): number
  /** Undefined where the client does not say: then it takes it, and anything that it names before. */
  identity: number | undefined
}

// Nobody has so many codings: what comes behind these is passed over.
const maxCodings = 32

const acceptedCoding = /^\s*([\w!#$%&'*+.^`|~-]+)\s*(?:;\s*q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)\s*)?$/i

/** Reads an Accept-Encoding header. Parts of it that cannot be read are passed over. */
const readAcceptance = (header: string): Acceptance => {
  const weights = new Map<string, number>()
  for (const part of header.split(',', maxCodings)) {
    const [, name, weight = '1'] = acceptedCoding.exec(part) ?? []
    if (name !== undefined) weights.set(name.toLowerCase().replace(/^x-gzip$/, 'gzip'), Number(weight))
  }
  const others = weights.get('*')
  return {
    weightOf: (coding) => weights.get(coding) ?? others ?? 0,
    identity: weights.get('identity') ?? (others === 0 ? 0 : undefined),
  }
}

interface Choice<Coding> {
  coding: Coding
  /** What is not coded would not be taken. */
  isRequired: boolean
}

/** The coding that a client likes best, of several the first at hand; undefined: it is sent as it is. */
export const codingFor = <Coding extends string>(
  header: string | undefined,
  atHand: readonly Coding[],
): Choice<Coding> | undefined => {
  if (header === undefined) return undefined
  const { weightOf, identity } = readAcceptance(header)
  let coding: Coding | undefined
  for (const one of atHand) if (weightOf(one) > (coding ? weightOf(coding) : 0)) coding = one
  if (coding === undefined || weightOf(coding) < (identity ?? 0)) return undefined
  return { coding, isRequired: identity === 0 }
}

/** The smallest of those at hand that a client takes; undefined: it has to be sent as it is. */
export const encodingFor = (
  { headers }: IncomingMessage,
  atHand: readonly Encoding[],
): Encoding | undefined => {
  const accepted = headers['accept-encoding']
  const taken = atHand.filter((one) => codingFor(String(accepted ?? ''), [one]))
  return encodings.find((one) => taken.includes(one))
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
