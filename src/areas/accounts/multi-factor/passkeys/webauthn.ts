import { createHash, createPublicKey, type JsonWebKey, verify } from 'node:crypto'
import { memberOf } from '../../../../lib/member.ts'
import type { RelyingParty } from './rules.ts'
import type { Assertion, NewCredential } from './schema.ts'
import type { Passkey } from './store.ts'

// Verifies the assertion of a passkey (WebAuthn, section 7.2). Every check throws the reason of a failure.

export type IsChallenge = (challenge: string) => boolean

const base64Bytes = (text: string) => Buffer.from(text, 'base64url')
const sha256 = (bytes: string | Uint8Array) => createHash('sha256').update(bytes).digest()

// A hash of the domain, flags, a count; extensions may follow.
const shortest = 37
const flags = { present: 1, verified: 4, backedUp: 16 }

const assertThat = (holds: boolean, otherwise: string) => {
  if (!holds) throw new Error(otherwise)
}

/** The members of what the browser signed, by key. */
const clientDataIn = (bytes: Buffer) => {
  const data: unknown = JSON.parse(bytes.toString())
  assertThat(!memberOf(data, 'crossOrigin'), 'the page is embedded in a page of another site')
  return (key: string) => String(memberOf(data, key))
}

const assertAsked = (bytes: Buffer, party: RelyingParty, isChallenge: IsChallenge) => {
  const textOf = clientDataIn(bytes)
  assertThat(textOf('type') === 'webauthn.get', 'the response belongs to another challenge')
  assertThat(party.origins.includes(textOf('origin')), `the answer comes from ${textOf('origin')}`)
  assertThat(isChallenge(textOf('challenge')), 'the challenge is unknown or has expired')
}

/** EdDSA includes the hash. */
const isSignedBy = (key: JsonWebKey, signed: Buffer, signature: Buffer) =>
  verify(key.kty === 'OKP' ? null : 'sha256', signed, createPublicKey({ key, format: 'jwk' }), signature)

/** A count that does not rise is from a copy; many passkeys always send 0. */
const isNewCount = (now: number, before: number) => (now === 0 && before === 0) || now > before

export const readAssertion = (
  party: RelyingParty,
  { response }: Assertion,
  { publicKey, counter: before }: Passkey['hidden'],
  { isChallenge, isVerifying }: { isChallenge: IsChallenge; isVerifying: boolean },
) => {
  const data = base64Bytes(response.clientDataJSON)
  const said = base64Bytes(response.authenticatorData)
  assertAsked(data, party, isChallenge)
  assertThat(said.length >= shortest, 'the authenticator data is too short')
  assertThat(said.subarray(0, 32).equals(sha256(party.id)), 'the passkey is of another domain')
  const has = (flag: number) => (said.readUInt8(32) & flag) !== 0
  assertThat(has(flags.present), 'the authenticator did not detect a user')
  assertThat(has(flags.verified) || !isVerifying, 'the authenticator did not verify the user')
  const counter = said.readUInt32BE(33)
  const signed = Buffer.concat([said, sha256(data)])
  assertThat(
    isSignedBy(publicKey, signed, base64Bytes(response.signature)),
    'the signature does not match this passkey',
  )
  assertThat(isNewCount(counter, before), `the counter fell from ${before} to ${counter}`)
  return { counter, isBackedUp: has(flags.backedUp) }
}

// The library is heavy, and most servers never meet a passkey: it is loaded when the first one is asked for or made.
// `readAssertion` checks signatures itself: the library's own check of ECDSA fails where the packages below it are
// installed in two versions.
const webauthnLibrary = () => import('@simplewebauthn/server')
const helpers = () => import('@simplewebauthn/server/helpers')

interface PasskeyUser {
  name: string
  displayName: string
  handle: Uint8Array<ArrayBuffer>
}

// EdDSA, ES256, RS256.
const algorithms = [-8, -7, -257]

const idsOf = (passkeys: readonly Passkey[]) =>
  passkeys.map(({ hidden: { credentialId: id, transports } }) => ({
    id,
    ...(transports ? { transports: [...transports] } : {}),
  }))

interface ChallengeOptions {
  known: readonly Passkey[]
  challenge: string
  timeoutMs: number
}

export const registrationOptions = async (
  { id: rpID, name: rpName }: RelyingParty,
  { person, known, challenge, timeoutMs }: ChallengeOptions & { person: PasskeyUser },
) =>
  (await webauthnLibrary()).generateRegistrationOptions({
    rpID,
    rpName,
    userName: person.name,
    userDisplayName: person.displayName,
    userID: person.handle,
    challenge,
    timeout: timeoutMs,
    attestationType: 'none',
    excludeCredentials: idsOf(known),
    supportedAlgorithmIDs: algorithms,
    // It can replace user name and password.
    authenticatorSelection: { residentKey: 'required', userVerification: 'preferred' },
  })

export const assertionOptions = async (
  { id: rpID }: RelyingParty,
  { known, challenge, timeoutMs }: ChallengeOptions,
) =>
  (await webauthnLibrary()).generateAuthenticationOptions({
    rpID,
    challenge,
    timeout: timeoutMs,
    ...(known.length > 0 ? { allowCredentials: idsOf(known) } : {}),
    userVerification: known.length > 0 ? 'preferred' : 'required',
  })

const curves: Readonly<Record<number, string>> = { 1: 'P-256', 6: 'Ed25519' }
const keyKinds: Readonly<Record<number, string>> = { 1: 'OKP', 2: 'EC', 3: 'RSA' }

/** A public key in COSE (RFC 9052), as JSON. The meaning of -1, -2 and -3 depends on its type. */
const jwkOf = (cose: ReadonlyMap<number, unknown>): JsonWebKey => {
  const kty = keyKinds[Number(cose.get(1))]
  const text = (label: number) => {
    const value = cose.get(label)
    if (value instanceof Uint8Array) return Buffer.from(value).toString('base64url')
    throw new Error('the key lacks a part')
  }
  if (kty === 'RSA') return { kty, n: text(-1), e: text(-2) }
  const crv = curves[Number(cose.get(-1))]
  if (kty === undefined || crv === undefined) throw new Error('the key has a type that was not requested')
  return { kty, crv, x: text(-2), ...(kty === 'EC' ? { y: text(-3) } : {}) }
}

const publicKeyOf = async (bytes: Uint8Array<ArrayBuffer>) => {
  const { decodeCredentialPublicKey } = await helpers()
  const decoded: unknown = decodeCredentialPublicKey(bytes)
  if (!(decoded instanceof Map)) throw new Error('the key is invalid')
  return jwkOf(decoded)
}

// The server requests no attestation: verifying one would send requests to the servers that it names.
const assertNoStatement = async (attestationObject: string) => {
  const { decodeAttestationObject } = await helpers()
  const format = decodeAttestationObject(base64Bytes(attestationObject)).get('fmt')
  assertThat(format === 'none', `an attestation of the format ${format} was not requested`)
}

/** The data to store of a new passkey. Throws if anything is invalid. */
export const readNew = async (party: RelyingParty, credential: NewCredential, isChallenge: IsChallenge) => {
  const { id, rawId, type, response } = credential
  const { clientDataJSON, attestationObject, transports } = response
  clientDataIn(base64Bytes(clientDataJSON))
  await assertNoStatement(attestationObject)
  const { verifyRegistrationResponse } = await webauthnLibrary()
  const { verified, registrationInfo } = await verifyRegistrationResponse({
    response: {
      id,
      rawId,
      type,
      response: { clientDataJSON, attestationObject },
      clientExtensionResults: {},
    },
    expectedChallenge: isChallenge,
    expectedOrigin: party.origins,
    expectedRPID: party.id,
    requireUserVerification: false,
    supportedAlgorithmIDs: algorithms,
  })
  if (!verified) throw new Error('the attestation is invalid')
  const { credential: made, credentialBackedUp } = registrationInfo
  assertThat(made.id === id, 'the authenticator names another credential than the browser')
  return {
    isBackedUp: credentialBackedUp,
    hidden: {
      credentialId: made.id,
      publicKey: await publicKeyOf(made.publicKey),
      counter: made.counter,
      ...(transports ? { transports } : {}),
    },
  }
}
