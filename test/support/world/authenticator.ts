// A software authenticator: what a browser and a security key make together, as JSON of the browser.
import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'
import type { Json } from '../../../src/lib/json.ts'

type Cbor = number | string | Uint8Array | ReadonlyMap<number | string, Cbor>

const cborHead = (major: number, value: number): Buffer => {
  if (value < 24) return Buffer.from([(major << 5) | value])
  if (value < 256) return Buffer.from([(major << 5) | 24, value])
  return Buffer.from([(major << 5) | 25, value >> 8, value & 255])
}

/** As much of CBOR as credentials are made of. */
const cbor = (value: Cbor): Buffer => {
  if (typeof value === 'number') return value < 0 ? cborHead(1, -1 - value) : cborHead(0, value)
  if (typeof value === 'string') {
    const bytes = Buffer.from(value)
    return Buffer.concat([cborHead(3, bytes.length), bytes])
  }
  if (value instanceof Uint8Array) return Buffer.concat([cborHead(2, value.length), value])
  const members = [...value].flatMap(([key, inner]) => [cbor(key), cbor(inner)])
  return Buffer.concat([cborHead(5, value.size), ...members])
}

const sha256 = (bytes: string | Uint8Array) => createHash('sha256').update(bytes).digest()
const text = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64url')

const bits = { present: 1, verified: 4, hasCredential: 64 }

interface Answered {
  origin?: string
  /** Use another domain than that of the request. */
  rpId?: string
  /** Whether it has recognised who holds it. */
  verifies?: boolean
  /** Whether it counts what it signs. */
  counts?: boolean
  crossOrigin?: boolean
  challenge?: string
  /** Signs with an unknown key. */
  forged?: boolean
  userHandle?: string
}

interface Options {
  public_key: Json
}

const fieldOf = (value: unknown, key: string) =>
  typeof value === 'object' && value !== null ? (value as Json)[key] : undefined

const coseOf = (key: KeyObject) => {
  const { x, y } = key.export({ format: 'jwk' })
  return cbor(
    new Map<number, Cbor>([
      [1, 2],
      [3, -7],
      [-1, 1],
      [-2, Buffer.from(x ?? '', 'base64url')],
      [-3, Buffer.from(y ?? '', 'base64url')],
    ]),
  )
}

export const createAuthenticator = (origin = 'http://localhost') => {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const stranger = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
  const id = randomBytes(32)
  let counter = 0
  let handle: string | undefined

  const clientData = (type: string, options: Options, { challenge, crossOrigin, ...answered }: Answered) =>
    Buffer.from(
      JSON.stringify({
        type,
        challenge: challenge ?? options.public_key.challenge,
        origin: answered.origin ?? origin,
        crossOrigin: crossOrigin ?? false,
      }),
    )

  const authenticatorData = (
    rpId: string,
    flags: number,
    counts: boolean,
    rest: Uint8Array = Buffer.alloc(0),
  ) => {
    if (counts) counter += 1
    const count = Buffer.alloc(4)
    count.writeUInt32BE(counter)
    return Buffer.concat([sha256(rpId), Buffer.from([flags]), count, rest])
  }

  const flagsOf = ({ verifies = true }: Answered) => bits.present | (verifies ? bits.verified : 0)

  return {
    id: text(id),

    /** Sets back the counter of signatures, as a copy of the authenticator would. */
    rewind: (to: number) => {
      counter = to
    },

    /** `navigator.credentials.create(options).toJSON()` */
    create(options: Options, answered: Answered & { format?: string } = {}) {
      const { rp, user } = options.public_key
      handle = String(fieldOf(user, 'id'))
      const length = Buffer.from([0, id.length])
      const attested = Buffer.concat([Buffer.alloc(16), length, id, coseOf(publicKey)])
      const rpId = answered.rpId ?? String(fieldOf(rp, 'id'))
      const authData = authenticatorData(rpId, flagsOf(answered) | bits.hasCredential, false, attested)
      const attestationObject = cbor(
        new Map<string, Cbor>([
          ['fmt', answered.format ?? 'none'],
          ['attStmt', new Map()],
          ['authData', authData],
        ]),
      )
      return {
        id: text(id),
        rawId: text(id),
        type: 'public-key',
        clientExtensionResults: {},
        response: {
          clientDataJSON: text(clientData('webauthn.create', options, answered)),
          attestationObject: text(attestationObject),
          transports: ['internal'],
        },
      }
    },

    /** `navigator.credentials.get(options).toJSON()` */
    get(options: Options, answered: Answered = {}) {
      const data = clientData('webauthn.get', options, answered)
      const rpId = answered.rpId ?? String(options.public_key.rpId)
      const authData = authenticatorData(rpId, flagsOf(answered), answered.counts ?? true)
      const signed = Buffer.concat([authData, sha256(data)])
      return {
        id: text(id),
        rawId: text(id),
        type: 'public-key',
        clientExtensionResults: {},
        response: {
          clientDataJSON: text(data),
          authenticatorData: text(authData),
          signature: text(sign('sha256', signed, answered.forged ? stranger : privateKey)),
          userHandle: answered.userHandle ?? handle,
        },
      }
    },
  }
}

export type Authenticator = ReturnType<typeof createAuthenticator>
