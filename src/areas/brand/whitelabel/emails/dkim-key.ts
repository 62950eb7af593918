import { createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto'
import { failure, validationError } from '../../../../lib/failure.ts'

export interface DkimKey {
  type: 'rsa' | 'ed25519'
  bits: number
  /** PKCS#8 PEM. */
  privateKey: string
  /** Value of `p=`. */
  publicKey: string
}

// Receivers may ignore signatures by shorter keys, and need not support longer ones.
const shortestRsa = 1024
const longestRsa = 4096

const longestPem = 16_384
const opening = /-----BEGIN ([A-Z0-9 ]+)-----/g
const privateKinds = new Set(['PRIVATE KEY', 'RSA PRIVATE KEY'])

const invalidKey = (message: string, reason?: unknown) =>
  failure(validationError, { problems: { file: { required: { message } } } }, reason)

/** The only block of the file. Text around it, such as comments, is ignored. */
const blockIn = (text: string): string => {
  const kinds = [...text.matchAll(opening)].map(([, kind = '']) => kind)
  const [kind] = kinds
  if (kind === undefined) throw invalidKey('Please provide a valid PEM file')
  if (kinds.length > 1) throw invalidKey('Please provide a single valid PEM file')
  if (kind.includes('ENCRYPTED') || text.includes('Proc-Type: 4,ENCRYPTED'))
    throw invalidKey('Please provide a valid PEM file: the key must not be encrypted')
  if (!privateKinds.has(kind))
    throw invalidKey('Please provide a valid PEM file: an RSA or Ed25519 private key')
  const end = `-----END ${kind}-----`
  const start = text.indexOf('-----BEGIN')
  return text.slice(start, text.indexOf(end, start) + end.length)
}

const parseKey = (pem: string): KeyObject => {
  try {
    return createPrivateKey({ key: pem, format: 'pem' })
  } catch (error) {
    throw invalidKey('Please provide a valid PEM file', error)
  }
}

/** Parsing accepts a key whose halves do not match, so it is used once. */
const signs = (key: KeyObject, type: DkimKey['type']) => {
  const text = Buffer.from('crosspoint')
  const digest = type === 'rsa' ? 'sha256' : null
  try {
    return verify(digest, text, createPublicKey(key), sign(digest, text, key))
  } catch {
    return false
  }
}

const publicHalf = (key: KeyObject, type: DkimKey['type']) => {
  const half = createPublicKey(key)
  if (type === 'rsa') return half.export({ type: 'spki', format: 'der' }).toString('base64')
  // DNS has the bare 32 bytes of an Ed25519 key (RFC 8463).
  return Buffer.from(half.export({ format: 'jwk' }).x ?? '', 'base64url').toString('base64')
}

const assertStrength = ({ asymmetricKeyDetails: details }: KeyObject): number => {
  const bits = details?.modulusLength ?? 0
  const exponent = details?.publicExponent ?? 0n
  if (bits >= shortestRsa && bits <= longestRsa && exponent > 2n) return bits
  throw invalidKey(`Please provide an RSA key of ${shortestRsa} to ${longestRsa} bits; 2048 are advised`)
}

/** The key of an uploaded PEM file. Error messages never contain its text. */
export const readDkimKey = (bytes: Buffer): DkimKey => {
  if (bytes.length > longestPem) throw invalidKey('Please provide a valid PEM file')
  const key = parseKey(blockIn(bytes.toString('latin1')))
  const type = key.asymmetricKeyType
  if (type !== 'rsa' && type !== 'ed25519')
    throw invalidKey('Please provide an RSA or Ed25519 key: DKIM supports no other keys')
  const bits = type === 'rsa' ? assertStrength(key) : 256
  if (!signs(key, type)) throw invalidKey('Please provide a valid PEM file')
  return {
    type,
    bits,
    privateKey: key.export({ type: 'pkcs8', format: 'pem' }).toString(),
    publicKey: publicHalf(key, type),
  }
}

export const dkimRecord = ({ type, publicKey }: Pick<DkimKey, 'type' | 'publicKey'>) =>
  type === 'rsa' ? `v=DKIM1; p=${publicKey}` : `v=DKIM1; k=${type}; p=${publicKey}`
