import { createHash, scryptSync } from 'node:crypto'
import { randomKey } from '../lib/ids.ts'

// A client signs in with md5(username:password): that digest acts as the password, so it is never stored. The
// store has scrypt(digest) with a salt of the account, which can be found within the account and is worthless
// to a thief of the database. The required strength grows over the years, and the passwords are unknown, so
// derivations are layered: a key of the second layer is scrypt of the key of the first, and the migration
// `derive_sign_in_secrets` adds the missing layers to stored keys. A key names its layer.

/** What a layer costs: the parameters of scrypt. */
export interface KeyLayer {
  N: number
  r: number
  p: number
}

/** Innermost first. Add a layer at the end to make keys stronger; never change one. */
export const keyLayers: readonly KeyLayer[] = [
  // 16 MiB and about 30 ms.
  { N: 2 ** 14, r: 8, p: 1 },
  // 32 MiB and about 60 ms.
  { N: 2 ** 15, r: 8, p: 1 },
]

const maxMemory = 64 * 1024 * 1024
export const keyLength = 24

const digestMethods = ['md5', 'sha'] as const
export type DigestMethod = (typeof digestMethods)[number]

const digests = {
  md5: { name: 'MD5', form: /^[0-9a-f]{32}$/, digits: 32 },
  sha: { name: 'SHA-1', form: /^[0-9a-f]{40}$/, digits: 40 },
}

export const isDigest = (method: DigestMethod, text: string) => digests[method].form.test(text)

/** The message for clients that send something else instead of a digest. */
export const digestWanted = (method: DigestMethod) =>
  `the ${digests[method].name} digest of username:password, the user name in lower case, as ${digests[method].digits} hex digits`

/** The digest that people sign in with: of the lower-cased user name, a colon and the password. */
export const digestOf = (method: DigestMethod, username: string, password: string) =>
  createHash(method === 'md5' ? 'md5' : 'sha1')
    .update(`${username.toLowerCase()}:${password}`)
    .digest('hex')

/** Whether this is the digest of an empty password, which is never accepted. */
export const isEmptyPassword = (method: DigestMethod, digest: string, username: string | undefined) =>
  username !== undefined && digest.toLowerCase() === digestOf(method, username, '')

// Keys of the first layer were there before there was another.
const layerMark = (method: DigestMethod, layer: number) =>
  layer === 1 ? `${method}:` : `${layer}:${method}:`

const allMarks = keyLayers.flatMap((_, index) =>
  digestMethods.map((method) => ({ method, layer: index + 1, mark: layerMark(method, index + 1) })),
)

/** Prefix of keys that need another layer. */
export const weakKeyMarks: readonly string[] = allMarks
  .filter(({ layer }) => layer < keyLayers.length)
  .map(({ mark }) => mark)

/** The method and the layer of a key. */
export const layerOfKey = (key: string) => {
  const found = allMarks.find(({ mark }) => key.startsWith(mark))
  if (!found) throw new Error('this is not a sign-in key')
  return found
}

/** The key of a layer, by what is below it. The salt (hex) is the account's. */
const wrap = (salt: string, mark: string, parameters: KeyLayer, secret: string) => {
  const key = scryptSync(secret, Buffer.from(`${mark}${salt}`), keyLength, {
    ...parameters,
    maxmem: maxMemory,
  })
  return `${mark}${key.toString('base64url')}`
}

/** Remaining layers of a secret to derive. */
export interface PasswordHashing {
  /** Hex; the account's. */
  salt: string
  method: DigestMethod
  fromLayer: number
  /** Absent: the last one that there is. */
  toLayer?: number
  /** The input of the first layer. */
  secret: string
}

/** The keys of every layer, one by one. It holds its thread for as long as it takes: see deriving/. */
export const derive = (
  { salt, method, fromLayer, toLayer = keyLayers.length, secret }: PasswordHashing,
  layers: readonly KeyLayer[] = keyLayers,
): string[] => {
  const keys: string[] = []
  for (const [index, parameters] of layers.slice(0, toLayer).entries()) {
    if (index + 1 < fromLayer) continue
    keys.push(wrap(salt, layerMark(method, index + 1), parameters, keys.at(-1) ?? secret))
  }
  return keys
}

/** The hashing that takes the digest a client sent for a password through all layers. */
export const hashingOfDigest = (salt: string, method: DigestMethod, digest: string): PasswordHashing => ({
  salt,
  method,
  fromLayer: 1,
  secret: digest.toLowerCase(),
})

export const renewal = (salt: string, key: string): PasswordHashing => {
  const { method, layer } = layerOfKey(key)
  return { salt, method, fromLayer: layer + 1, secret: key }
}

const passwordBytes = 15
// It starts with a letter, so that programs do not read it as an option.
const passwordForms = [/\d/, /[a-z]/, /[A-Z]/, /[-_]/, /^[A-Za-z]/]

/** A password that satisfies every password rule: twenty characters, some of each kind. */
export const freshPassword = (): string => {
  for (;;) {
    const password = randomKey(passwordBytes).toString('base64url')
    if (passwordForms.every((kind) => kind.test(password))) return password
  }
}
