import type { Party } from './rules.ts'
import type { Assertion, NewCredential } from './schema.ts'
import type { Passkey } from './store.ts'

// The library is heavy, and most servers never meet a passkey: it is loaded with the first one.
const library = () => import('@simplewebauthn/server')
const helpers = () => import('@simplewebauthn/server/helpers')

/** Which challenge an answer has to be to. */
type IsChallenge = (challenge: string) => boolean

interface Person {
  name: string
  displayName: string
  handle: Uint8Array<ArrayBuffer>
}

const idsOf = (passkeys: readonly Passkey[]) =>
  passkeys.map(({ hidden: { credentialId: id, transports } }) => ({
    id,
    ...(transports ? { transports: [...transports] } : {}),
  }))

export const registrationOptions = async (
  { id: rpID, name: rpName }: Party,
  {
    person,
    known,
    challenge,
    timeoutMs,
  }: { person: Person; known: readonly Passkey[]; challenge: string; timeoutMs: number },
) =>
  (await library()).generateRegistrationOptions({
    rpID,
    rpName,
    userName: person.name,
    userDisplayName: person.displayName,
    userID: person.handle,
    challenge,
    timeout: timeoutMs,
    attestationType: 'none',
    excludeCredentials: idsOf(known),
    // It can stand in the place of user name and password.
    authenticatorSelection: { residentKey: 'required', userVerification: 'preferred' },
  })

export const assertionOptions = async (
  { id: rpID }: Party,
  { known, challenge, timeoutMs }: { known: readonly Passkey[]; challenge: string; timeoutMs: number },
) =>
  (await library()).generateAuthenticationOptions({
    rpID,
    challenge,
    timeout: timeoutMs,
    ...(known.length > 0 ? { allowCredentials: idsOf(known) } : {}),
    userVerification: known.length > 0 ? 'preferred' : 'required',
  })

// Statements about the maker of an authenticator are not asked for, and looking at them asks servers that they name.
const assertNoStatement = async (attestationObject: string) => {
  const { decodeAttestationObject } = await helpers()
  const decoded = decodeAttestationObject(Buffer.from(attestationObject, 'base64url'))
  const format = decoded.get('fmt')
  if (format === 'none' || (format === 'packed' && decoded.get('attStmt').get('x5c') === undefined)) return
  throw new Error(`an attestation of the form ${format} was not asked for`)
}

const assertOwnFrame = (clientDataJSON: string) => {
  const data: unknown = JSON.parse(Buffer.from(clientDataJSON, 'base64url').toString())
  const isForeign = typeof data === 'object' && data !== null && 'crossOrigin' in data && data.crossOrigin
  if (isForeign) throw new Error('the answer comes from within a page of somebody else')
}

/** What is to be kept of a new passkey. Throws when anything about it is wrong. */
export const readNew = async (party: Party, credential: NewCredential, isChallenge: IsChallenge) => {
  const { id, rawId, type, response } = credential
  const { clientDataJSON, attestationObject, transports } = response
  assertOwnFrame(clientDataJSON)
  await assertNoStatement(attestationObject)
  const { verifyRegistrationResponse } = await library()
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
  })
  if (!verified) throw new Error('the attestation is not sound')
  const { credential: made, credentialBackedUp } = registrationInfo
  if (made.id !== id) throw new Error('the authenticator names another credential than the browser')
  return {
    isBackedUp: credentialBackedUp,
    hidden: {
      credentialId: made.id,
      publicKey: Buffer.from(made.publicKey).toString('base64url'),
      counter: made.counter,
      ...(transports ? { transports } : {}),
    },
  }
}

/** What a passkey says of itself with a signature that is its own. Throws when anything about it is wrong. */
export const readAssertion = async (
  party: Party,
  { id, rawId, type, response }: Assertion,
  { passkey, isChallenge, isVerifying }: { passkey: Passkey; isChallenge: IsChallenge; isVerifying: boolean },
) => {
  const { clientDataJSON, authenticatorData, signature } = response
  assertOwnFrame(clientDataJSON)
  const { hidden } = passkey
  const { verifyAuthenticationResponse } = await library()
  const { verified, authenticationInfo } = await verifyAuthenticationResponse({
    response: {
      id,
      rawId,
      type,
      response: { clientDataJSON, authenticatorData, signature },
      clientExtensionResults: {},
    },
    expectedChallenge: isChallenge,
    expectedOrigin: party.origins,
    expectedRPID: party.id,
    requireUserVerification: isVerifying,
    credential: {
      id: hidden.credentialId,
      publicKey: Buffer.from(hidden.publicKey, 'base64url'),
      counter: hidden.counter,
    },
  })
  if (!verified) throw new Error('the signature is not the passkey’s')
  return { counter: authenticationInfo.newCounter, isBackedUp: authenticationInfo.credentialBackedUp }
}
