import { createPrivateKey, createPublicKey, generateKeyPair, type KeyObject } from 'node:crypto'
import { promisify } from 'node:util'
import { decodeProtectedHeader, errors, jwtVerify, SignJWT } from 'jose'
import { failure, invalidCredentials } from '../lib/failure.ts'
import { randomHex } from '../lib/ids.ts'
import { type Author, type ChangeSet, systemScope } from '../storage/change-set.ts'
import { createCollection } from '../storage/collection.ts'
import type { StoredRecord } from '../storage/records.ts'
import { committed, type Store } from '../storage/store.ts'
import type { TokenClaims } from './identity.ts'
import type { Keyring } from './keyring.ts'

interface SystemHidden {
  /** Part of every token's identity signature: a new one ends all sessions. */
  signatureSecret: string
  currentKeyId: string
}

interface SigningKeyDoc {
  alg: 'RS256'
  public_key_pem: string
}

type SigningKeyRecord = StoredRecord<SigningKeyDoc, { sealedPrivateKey: string }>

export type SystemRecord = StoredRecord<object, SystemHidden>

export const issuer = 'kazoo'
const systemId = 'token_identity'
const makeKeyPair = promisify(generateKeyPair)

export const tokenRefused = (reason?: unknown) => failure(invalidCredentials, {}, reason)

/** The keys that sign tokens, and the secret of the whole system that every token depends on. */
export const createSigningKeys = (store: Store, keyring: Keyring) => {
  const systems = createCollection<object, SystemHidden>(store, { kind: 'token_identity' })
  const keys = createCollection<SigningKeyDoc, { sealedPrivateKey: string }>(store, { kind: 'signing_key' })
  const keyObjects = new WeakMap<object, KeyObject>()

  const system = async () => {
    const record = await systems.find(systemScope, systemId)
    if (!record) throw new Error('the token identity is missing: the store was not prepared')
    return record
  }

  const changeSystem = async (set: ChangeSet, hidden: Partial<SystemHidden>) => {
    const record = await system()
    systems.replace(set, record, systems.revise(record, { hidden: { ...record.hidden, ...hidden } }))
  }

  const draftKey = async () => {
    const pair = await makeKeyPair('rsa', { modulusLength: 2048 })
    const id = randomHex(16)
    const pem = pair.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
    const publicPem = pair.publicKey.export({ type: 'spki', format: 'pem' }).toString()
    const hidden = { sealedPrivateKey: keyring.seal(pem, `signing_key/${id}`) }
    return keys.draft(systemScope, { doc: { alg: 'RS256', public_key_pem: publicPem }, hidden }, id)
  }

  const publicKey = (record: SigningKeyRecord) => {
    const known = keyObjects.get(record) ?? createPublicKey(record.doc.public_key_pem)
    keyObjects.set(record, known)
    return known
  }

  const checkSignature = async (token: string) => {
    const { kid } = decodeProtectedHeader(token)
    const key = kid && (await keys.find(systemScope, kid))
    if (!key) throw tokenRefused()
    const { payload } = await jwtVerify<TokenClaims>(token, publicKey(key), {
      issuer,
      algorithms: ['RS256'],
      currentDate: new Date(store.clock.now()),
    })
    return payload
  }

  return {
    system,
    keys,

    async decode(token: string) {
      try {
        return await checkSignature(token)
      } catch (error) {
        if (error instanceof errors.JOSEError || error instanceof TypeError) throw tokenRefused(error)
        throw error
      }
    },

    async sign(claims: TokenClaims) {
      const key = await keys.get(systemScope, (await system()).hidden.currentKeyId)
      const pem = keyring.open(key.hidden.sealedPrivateKey, `signing_key/${key.id}`)
      return new SignJWT({ ...claims })
        .setProtectedHeader({ alg: 'RS256', typ: 'JWT', kid: key.id })
        .sign(createPrivateKey(pem))
    },

    resetSystemSecret: (author: Author) =>
      committed(store, author, (set) => changeSystem(set, { signatureSecret: randomHex(32) })),

    /** A new key pair signs from now on; the old one still verifies what it signed. */
    async rotateSigningKey(author: Author) {
      const key = await draftKey()
      return committed(store, author, async (set) => {
        keys.insert(set, key)
        await changeSystem(set, { currentKeyId: key.id })
        return key
      })
    },

    /** Makes the first signing key and secret of a new store. Harmless when another process does the same. */
    async prepare(author: Author) {
      if (await systems.find(systemScope, systemId)) return
      const key = await draftKey()
      const hidden = { signatureSecret: randomHex(32), currentKeyId: key.id }
      await committed(store, author, (set) => {
        keys.insert(set, key)
        systems.insert(set, systems.draft(systemScope, { doc: {}, hidden }, systemId))
      }).catch(async (error) => {
        await store.fence()
        if (!(await systems.find(systemScope, systemId))) throw error
      })
    },
  }
}
