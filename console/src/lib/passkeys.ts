/** Whether this browser has passkeys at all, and this page may use them: not without TLS, except at the machine itself. */
export const hasPasskeys = () =>
  'PublicKeyCredential' in globalThis && 'parseRequestOptionsFromJSON' in PublicKeyCredential

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
