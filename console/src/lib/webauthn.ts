import { isObject } from './json.ts'

// Browsers speak to authenticators in bytes, the server in JSON with base64url. Newer browsers translate by themselves.

export const bytesOfBase64Url = (text: string) =>
  Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (character) =>
    character.charCodeAt(0),
  )

export const base64UrlOf = (bytes: ArrayBuffer) =>
  btoa(Array.from(new Uint8Array(bytes), (byte) => String.fromCharCode(byte)).join(''))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')

/** Whether this browser, at this address, has passkeys at all: without TLS there are none. */
export const hasPasskeys = () => 'PublicKeyCredential' in globalThis

const isCreationOptions = (value: unknown): value is PublicKeyCredentialCreationOptionsJSON =>
  isObject(value) && typeof value.challenge === 'string' && isObject(value.user) && isObject(value.rp)

const creationOptionsOf = (
  json: PublicKeyCredentialCreationOptionsJSON,
): PublicKeyCredentialCreationOptions => {
  if ('parseCreationOptionsFromJSON' in PublicKeyCredential)
    return PublicKeyCredential.parseCreationOptionsFromJSON(json)
  const { rp, user, challenge, pubKeyCredParams, timeout, authenticatorSelection, excludeCredentials } = json
  return {
    rp,
    user: { ...user, id: bytesOfBase64Url(user.id) },
    challenge: bytesOfBase64Url(challenge),
    pubKeyCredParams,
    timeout,
    authenticatorSelection,
    excludeCredentials: excludeCredentials?.map(({ id }) => ({
      type: 'public-key',
      id: bytesOfBase64Url(id),
    })),
  }
}

/** A new credential as the server takes it. */
const registrationOf = ({ id, rawId, response }: PublicKeyCredential) => {
  if (!(response instanceof AuthenticatorAttestationResponse)) throw new TypeError('no new credential')
  return {
    id,
    rawId: base64UrlOf(rawId),
    type: 'public-key' as const,
    response: {
      clientDataJSON: base64UrlOf(response.clientDataJSON),
      attestationObject: base64UrlOf(response.attestationObject),
      transports: response.getTransports(),
    },
  }
}

/**
 * Has the browser make a passkey, by the server's `public_key` for it. Throws the browser's `DOMException`: `NotAllowedError`
 * when nobody agreed in time, `InvalidStateError` when the device has one of this user already.
 */
export const makePasskey = async (publicKey: unknown) => {
  if (!isCreationOptions(publicKey)) throw new TypeError('no options for a passkey')
  const made = await navigator.credentials.create({ publicKey: creationOptionsOf(publicKey) })
  if (!(made instanceof PublicKeyCredential)) throw new TypeError('no new credential')
  return registrationOf(made)
}
