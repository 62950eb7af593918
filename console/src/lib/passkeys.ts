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

/** Whoever was asked said no, or let the time pass. */
export class NoPasskey extends Error {}

/**
 * Has the device sign what the server asks: `asked` is `public_key` of its answer. The credential as the server takes it.
 * `NoPasskey` when nobody showed one.
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
 * Has the device make a passkey: `asked` is `public_key` of the server's answer. The credential as the server takes it. Throws
 * the browser's `DOMException`: `NotAllowedError` when nobody agreed in time, `InvalidStateError` when the device has one
 * of this user already.
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
