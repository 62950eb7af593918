/**
 * Whether this browser has passkeys, as JSON too (since 2023 to 2025, by browser), and this page may use them: not without
 * TLS, except at the machine itself.
 */
export const hasPasskeys = () =>
  'PublicKeyCredential' in globalThis && 'parseRequestOptionsFromJSON' in PublicKeyCredential

const isCreation = (value: unknown): value is PublicKeyCredentialCreationOptionsJSON =>
  typeof value === 'object' && value !== null && 'challenge' in value && 'user' in value

const isRequest = (value: unknown): value is PublicKeyCredentialRequestOptionsJSON =>
  typeof value === 'object' && value !== null && 'challenge' in value

/** The user declined or did not respond in time. */
export class NoPasskey extends Error {}

/**
 * Lets the device sign the challenge: `asked` is `public_key` of the response. Returns the credential in the
 * server's format. Throws `NoPasskey` if the user shows none.
 */
export const askForPasskey = async (asked: unknown): Promise<Record<string, unknown>> => {
  if (!isRequest(asked)) throw new TypeError('the server asks for no passkey')
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(asked)
  try {
    const credential = await navigator.credentials.get({ publicKey })
    if (credential instanceof PublicKeyCredential) return { ...credential.toJSON() }
  } catch (error) {
    // Browsers do not tell apart why nothing came of it.
    if (!(error instanceof DOMException)) throw error
  }
  throw new NoPasskey()
}

/**
 * Creates a passkey on the device: `asked` is `public_key` of the response. Returns the credential in the
 * server's format. Throws the browser's `DOMException`: `NotAllowedError` if the user does not confirm in time,
 * `InvalidStateError` if the device already has a passkey of this user.
 */
export const makePasskey = async (asked: unknown) => {
  if (!isCreation(asked)) throw new TypeError('the server asks for no new passkey')
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(asked)
  const credential = await navigator.credentials.create({ publicKey })
  if (!(credential instanceof PublicKeyCredential)) throw new TypeError('no new credential')
  const { id, rawId, response } = credential.toJSON()
  if (!('attestationObject' in response)) throw new TypeError('no new credential')
  return { id, rawId, type: 'public-key' as const, response: { ...response } }
}
