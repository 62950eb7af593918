import { createHash, scrypt } from 'node:crypto'
import { promisify } from 'node:util'
import { failure } from '../lib/failure.ts'

// A client signs in with md5(username:password): that digest is itself the password, so it is never stored.
// What is stored is scrypt(digest) under a salt of the account, which makes it findable within the account
// and worthless to a thief of the database.

const derive = promisify<string, Buffer, number, { N: number; r: number; p: number; maxmem: number }, Buffer>(
  scrypt,
)

// 16 MiB and about 30 ms a derivation.
export const scryptParameters = { N: 2 ** 14, r: 8, p: 1, maxmem: 64 * 1024 * 1024 }
export const keyLength = 24

// Each derivation holds a thread of the pool and 16 MiB: more than this many waiting callers are sent away.
const mostWaiting = 64
let waiting = 0

export type DigestMethod = 'md5' | 'sha'

export const isDigest = (text: string) => /^[0-9a-f]{32}$|^[0-9a-f]{40}$/.test(text)

/** The digest of reference 01 section 2.3: of the lower-cased user name, a colon and the password. */
export const digestOf = (method: DigestMethod, username: string, password: string) =>
  createHash(method === 'md5' ? 'md5' : 'sha1')
    .update(`${username.toLowerCase()}:${password}`)
    .digest('hex')

/** The value under which a digest's owner is found within the account that `salt` (hex) belongs to. */
export const signInKey = async (salt: string, method: DigestMethod, digest: string) => {
  if (waiting >= mostWaiting) throw failure('too_many_requests', { retryAfterSeconds: 2 })
  waiting += 1
  try {
    const key = await derive(
      digest.toLowerCase(),
      Buffer.from(`${method}:${salt}`),
      keyLength,
      scryptParameters,
    )
    return `${method}:${key.toString('base64url')}`
  } finally {
    waiting -= 1
  }
}

/** The keys of a user: one for each digest that clients may send. */
export const signInKeysOf = (salt: string, username: string, password: string) =>
  Promise.all([
    signInKey(salt, 'md5', digestOf('md5', username, password)),
    signInKey(salt, 'sha', digestOf('sha', username, password)),
  ])
