import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  createSecretKey,
  hkdfSync,
} from 'node:crypto'
import {
  closeSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { codeOf, namingPath } from '../lib/error-facts.ts'
import { randomHex, randomKey } from '../lib/ids.ts'

const keyBytes = 32
const nonceBytes = 12
const tagBytes = 16

/** A key that the store does not know yet has another name: `keys/server.key` is always the key of a store. */
type KeyFile = 'server.key' | 'undeclared.key'

const fileOf = (dataDir: string, name: KeyFile) => join(dataDir, 'keys', name)

/** The server's key as `keys/server.key` of the data directory holds it; undefined when there is none yet. */
export const readServerKey = (dataDir: string, name: KeyFile = 'server.key'): Buffer | undefined => {
  const file = fileOf(dataDir, name)
  try {
    const key = Buffer.from(readFileSync(file, 'utf8').trim(), 'hex')
    if (key.length !== keyBytes) throw new Error(`${file} must contain ${keyBytes} bytes in hex`)
    return key
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw namingPath(file, error)
  }
}

const syncDirectory = (directory: string) => {
  const handle = openSync(directory, 'r')
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}

/** Stores a key and returns the stored one: the first process wins. The file appears only when it is complete. */
export const keepServerKey = (dataDir: string, key: Buffer, name: KeyFile = 'server.key'): Buffer => {
  const file = fileOf(dataDir, name)
  const draft = `${file}.${randomHex(8)}`
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  writeFileSync(draft, `${key.toString('hex')}\n`, { mode: 0o600, flag: 'wx', flush: true })
  try {
    linkSync(draft, file)
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error
  } finally {
    rmSync(draft)
  }
  syncDirectory(dirname(file))
  const kept = readServerKey(dataDir, name)
  if (!kept) throw new Error(`${file} is gone`)
  return kept
}

/** Removes the key that the store does not know, or that has become `keys/server.key`. */
export const dropUndeclaredKey = (dataDir: string) =>
  rmSync(fileOf(dataDir, 'undeclared.key'), { force: true })

export const newServerKey = () => randomKey(keyBytes)

export const fingerprintOf = (serverKey: Buffer) =>
  createHmac('sha256', serverKey).update('crosspoint fingerprint').digest('hex').slice(0, 32)

/** A key for one purpose, made of the server's key. */
const keyFor = (serverKey: Buffer, purpose: string) =>
  Buffer.from(hkdfSync('sha256', serverKey, '', `crosspoint ${purpose}`, keyBytes))

const markBits = 12

/** A few bits of a keyed digest, to recognize a text: too few to find it with the store and the key. */
export const keyedMark = (serverKey: Buffer, text: string) =>
  createHmac('sha256', keyFor(serverKey, 'mark')).update(text).digest().readUInt16BE() >> (16 - markBits)

export type Keyring = ReturnType<typeof createKeyring>

/** Encrypts what has to be readable again but must mean nothing to a thief of the database. */
export const createKeyring = (serverKey: Buffer) => {
  const key = keyFor(serverKey, 'seal')
  // A key object: to make one of bytes takes several times what marking a text takes.
  const marking = createSecretKey(keyFor(serverKey, 'mark of texts'))
  return {
    /** The same 32 hex digits for the same text, without meaning to a thief of the store alone. */
    mark: (text: string) => createHmac('sha256', marking).update(text).digest('hex').slice(0, 32),

    /** AES-256-GCM; `context` binds the text to its place, so that a sealed value cannot be moved to another record. */
    seal(text: string, context: string): string {
      const nonce = randomKey(nonceBytes)
      const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(context))
      const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
      return Buffer.concat([nonce, cipher.getAuthTag(), body]).toString('base64url')
    },

    open(sealed: string, context: string): string {
      const bytes = Buffer.from(sealed, 'base64url')
      const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, nonceBytes))
        .setAAD(Buffer.from(context))
        .setAuthTag(bytes.subarray(nonceBytes, nonceBytes + tagBytes))
      return (
        decipher.update(bytes.subarray(nonceBytes + tagBytes), undefined, 'utf8') + decipher.final('utf8')
      )
    },
  }
}

export const sha256Hex = (text: string) => createHash('sha256').update(text).digest('hex')
