import {
  createCipheriv,
  createDecipheriv,
  createPublicKey,
  diffieHellman,
  generateKeyPairSync,
  hkdfSync,
  type KeyObject,
} from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import { Failure } from '../lib/failure.ts'
import { type Author, ChangeSet, systemScope } from '../storage/change-set.ts'
import { createCollection } from '../storage/collection.ts'
import { cacheKey } from '../storage/db.ts'
import { committed, type Store } from '../storage/store.ts'
import { dropUndeclaredKey, fingerprintOf, keepServerKey, newServerKey, readServerKey } from './keyring.ts'

// The server's key is never stored in the database in clear. A process that joins a store on another machine
// writes a public key; a process that has the server's key encrypts it with that key, so that no other process
// can read it.

const author: Author = { requestId: 'key-handover' }
const identityId = 'server_key'
const requestKind = 'key_request'

const spki = (key: KeyObject) => key.export({ type: 'spki', format: 'der' }).toString('base64')
const fromSpki = (text: string) =>
  createPublicKey({ key: Buffer.from(text, 'base64'), type: 'spki', format: 'der' })

const sharedKey = (privateKey: KeyObject, publicKey: string) =>
  Buffer.from(
    hkdfSync('sha256', diffieHellman({ privateKey, publicKey: fromSpki(publicKey) }), '', identityId, 32),
  )

// Each shared key seals one message only, so a constant nonce is safe.
const nonce = Buffer.alloc(12)

const seal = (key: Buffer, secret: Buffer) => {
  const cipher = createCipheriv('aes-256-gcm', key, nonce)
  const body = Buffer.concat([cipher.update(secret), cipher.final()])
  return Buffer.concat([cipher.getAuthTag(), body]).toString('base64')
}

const unseal = (key: Buffer, sealed: string) => {
  const bytes = Buffer.from(sealed, 'base64')
  const decipher = createDecipheriv('aes-256-gcm', key, nonce).setAuthTag(bytes.subarray(0, 16))
  return Buffer.concat([decipher.update(bytes.subarray(16)), decipher.final()])
}

const collections = (store: Store) => ({
  identities: createCollection<{ fingerprint: string }, object>(store, { kind: 'server_key' }),
  requests: createCollection<{ public_key: string }, object>(store, { kind: requestKind }),
  grants: createCollection<{ sealed: string; public_key: string }, object>(store, { kind: 'key_grant' }),
})

const patienceMilliseconds = 20_000
const pauseMilliseconds = 100

const refusal = (dataDir: string) =>
  new Error(
    `this store was set up with the key of another machine: copy keys/server.key from there into ${dataDir}, ` +
      'or start this server while another server of the store is running: it sends the key',
  )

const askForKey = async (store: Store, dataDir: string, fingerprint: string): Promise<Buffer> => {
  const { requests, grants } = collections(store)
  const pair = generateKeyPairSync('x25519')
  const request = requests.draft(systemScope, { doc: { public_key: spki(pair.publicKey) }, hidden: {} })
  await committed(store, author, (set) => requests.insert(set, request))
  const tidy = new ChangeSet(author)
  requests.remove(tidy, request)
  try {
    for (let waited = 0; waited < patienceMilliseconds; waited += pauseMilliseconds) {
      await store.fence()
      const grant = await grants.find(systemScope, request.id)
      if (!grant) {
        await setTimeout(pauseMilliseconds)
        continue
      }
      grants.remove(tidy, grant)
      const key = unseal(sharedKey(pair.privateKey, grant.doc.public_key), grant.doc.sealed)
      if (fingerprintOf(key) !== fingerprint) throw refusal(dataDir)
      return key
    }
    throw refusal(dataDir)
  } finally {
    await store.commit(tidy)
  }
}

const storedIdentity = (store: Store) => collections(store).identities.find(systemScope, identityId)

/** Whether a key is the one that the store was set up with; undefined when it was not set up with any yet. */
export const isKeyOf = async (store: Store, key: Buffer): Promise<boolean | undefined> => {
  const identity = await storedIdentity(store)
  return identity && identity.doc.fingerprint === fingerprintOf(key)
}

const declareIdentity = async (store: Store, key: Buffer) => {
  const { identities } = collections(store)
  const doc = { fingerprint: fingerprintOf(key) }
  const identity = identities.draft(systemScope, { doc, hidden: {} }, identityId)
  await committed(store, author, (set) => identities.insert(set, identity)).catch(async (error) => {
    await store.fence()
    if (!(await storedIdentity(store))) throw error
  })
}

/** Reads the server's key, creates it for a new store, or gets it from another server. Rejects the key of another store. */
export const obtainServerKey = async (store: Store, dataDir: string): Promise<Buffer> => {
  // Read first: another process of this directory removes it when `server.key` is there.
  const undeclared = readServerKey(dataDir, 'undeclared.key')
  const own = readServerKey(dataDir)
  const identity = await storedIdentity(store)
  if (!identity) {
    // On disk before it is declared: a declared key that was lost would make the store useless.
    const key = own ?? keepServerKey(dataDir, undeclared ?? newServerKey(), 'undeclared.key')
    await declareIdentity(store, key)
    return obtainServerKey(store, dataDir)
  }
  const { fingerprint } = identity.doc
  if (!own) {
    const isDeclared = undeclared !== undefined && fingerprintOf(undeclared) === fingerprint
    keepServerKey(dataDir, isDeclared ? undeclared : await askForKey(store, dataDir, fingerprint))
    return obtainServerKey(store, dataDir)
  }
  if (fingerprintOf(own) !== fingerprint) throw refusal(dataDir)
  if (undeclared) dropUndeclaredKey(dataDir)
  return own
}

/** Answers servers that join the store: those that already ask, and those whose requests come as stale keys. */
export const createKeyGranter = (store: Store, serverKey: Buffer) => {
  const { requests, grants } = collections(store)
  const prefix = cacheKey(systemScope, requestKind, '')

  const grant = async (id: string) => {
    const request = await requests.find(systemScope, id)
    if (!request || (await grants.find(systemScope, id))) return
    const pair = generateKeyPairSync('x25519')
    const sealed = seal(sharedKey(pair.privateKey, request.doc.public_key), serverKey)
    const doc = { sealed, public_key: spki(pair.publicKey) }
    const granted = grants.draft(systemScope, { doc, hidden: {} }, id)
    await committed(store, author, (set) => grants.insert(set, granted)).catch((error) => {
      // If several servers run, one responds first.
      if (!(error instanceof Failure)) throw error
    })
  }

  return {
    async grantWaiting() {
      const page = { accountId: systemScope, limit: 100, descending: false }
      for (const request of await requests.page(page)) await grant(request.id)
    },
    async grantStale(keys: readonly string[] | 'everything') {
      if (keys === 'everything') return
      for (const key of keys) if (key.startsWith(prefix)) await grant(key.slice(prefix.length))
    },
  }
}
