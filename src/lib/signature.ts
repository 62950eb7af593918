import { createHmac } from 'node:crypto'

/** Proves origin and time of a body. During a change of secrets both sign. */
export const signatureOf = (body: string, secrets: readonly string[], unixSeconds: number) => {
  const proofs = secrets.map((secret) =>
    createHmac('sha256', secret).update(`${unixSeconds}.${body}`).digest('hex'),
  )
  return [`t=${unixSeconds}`, ...proofs.map((proof) => `v1=${proof}`)].join(',')
}
