const lineOf = 64

const toPem = (bytes: ArrayBuffer) => {
  const text = btoa(String.fromCharCode(...new Uint8Array(bytes)))
  const lines = text.match(new RegExp(`.{1,${lineOf}}`, 'g')) ?? []
  return ['-----BEGIN PRIVATE KEY-----', ...lines, '-----END PRIVATE KEY-----', ''].join('\n')
}

// Browsers give their cryptography only to pages that came over TLS, or from the machine itself.
export const canMakeKeys = () => globalThis.isSecureContext

/** A new key that mail can be signed with, as a PEM file. It leaves this page for the server only. */
export const makeKey = async (): Promise<Blob> => {
  const algorithm = {
    name: 'RSASSA-PKCS1-v1_5',
    modulusLength: 2048,
    publicExponent: new Uint8Array([1, 0, 1]),
    hash: 'SHA-256',
  }
  const { privateKey } = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])
  return new Blob([toPem(await crypto.subtle.exportKey('pkcs8', privateKey))])
}
