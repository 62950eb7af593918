import { createHmac } from 'node:crypto'

/** What proves to the operator's system that a body came from here, and when. */
export const signatureOf = (body: string, secret: string, unixSeconds: number) =>
  `t=${unixSeconds},v1=${createHmac('sha256', secret).update(`${unixSeconds}.${body}`).digest('hex')}`
