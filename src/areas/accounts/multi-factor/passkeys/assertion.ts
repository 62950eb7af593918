import { createHash, createPublicKey, type JsonWebKey, verify } from 'node:crypto'
import { memberOf } from '../../../../lib/member.ts'
import type { Party } from './rules.ts'
import type { Assertion } from './schema.ts'

// What a passkey says when it signs: WebAuthn, section 7.2. Everything here throws what is wrong with it.

export type IsChallenge = (challenge: string) => boolean

const bytesOf = (text: string) => Buffer.from(text, 'base64url')
const sha256 = (bytes: string | Uint8Array) => createHash('sha256').update(bytes).digest()

// A hash of the domain, flags, a count; extensions may follow.
const shortest = 37
const flags = { present: 1, verified: 4, backedUp: 16 }

const assertThat = (holds: boolean, otherwise: string) => {
  if (!holds) throw new Error(otherwise)
}

const assertAsked = (bytes: Buffer, party: Party, isChallenge: IsChallenge) => {
  const data: unknown = JSON.parse(bytes.toString())
  const textOf = (key: string) => String(memberOf(data, key))
  assertThat(textOf('type') === 'webauthn.get', 'the answer is to another question')
  assertThat(party.origins.includes(textOf('origin')), `the answer comes from ${textOf('origin')}`)
  assertThat(memberOf(data, 'crossOrigin') !== true, 'the page that asked stands in one of somebody else')
  assertThat(isChallenge(textOf('challenge')), 'the challenge is none of now')
}

/** EdDSA hashes by itself. */
const isSignedBy = (key: JsonWebKey, signed: Buffer, signature: Buffer) =>
  verify(key.kty === 'OKP' ? null : 'sha256', signed, createPublicKey({ key, format: 'jwk' }), signature)

interface Known {
  publicKey: JsonWebKey
  /** The last signature count that it sent. */
  counter: number
}

/** A count that does not rise is from a copy; many passkeys always send 0. */
const isNewCount = (now: number, before: number) => (now === 0 && before === 0) || now > before

export const readAssertion = (
  party: Party,
  { response }: Assertion,
  { publicKey, counter: before }: Known,
  { isChallenge, isVerifying }: { isChallenge: IsChallenge; isVerifying: boolean },
) => {
  const data = bytesOf(response.clientDataJSON)
  const said = bytesOf(response.authenticatorData)
  assertAsked(data, party, isChallenge)
  assertThat(said.length >= shortest, 'the authenticator says too little')
  assertThat(said.subarray(0, 32).equals(sha256(party.id)), 'the passkey is of another domain')
  const has = (flag: number) => (said.readUInt8(32) & flag) !== 0
  assertThat(has(flags.present), 'nobody was there')
  assertThat(has(flags.verified) || !isVerifying, 'the authenticator has not recognised anybody')
  const counter = said.readUInt32BE(33)
  const signed = Buffer.concat([said, sha256(data)])
  assertThat(
    isSignedBy(publicKey, signed, bytesOf(response.signature)),
    'the signature is not of this passkey',
  )
  assertThat(isNewCount(counter, before), `the count is ${counter} after ${before}`)
  return { counter, isBackedUp: has(flags.backedUp) }
}
