import { createHmac } from 'node:crypto'

/**
 * What proves to a system outside that a body came from here, and when. While one secret takes the place of another, both
 * sign: whoever knows one of them is content.
 */
export const signatureOf = (body: string, secrets: readonly string[], unixSeconds: number) => {
  const proofs = secrets.map((secret) =>
    createHmac('sha256', secret).update(`${unixSeconds}.${body}`).digest('hex'),
  )
  return [`t=${unixSeconds}`, ...proofs.map((proof) => `v1=${proof}`)].join(',')
}
