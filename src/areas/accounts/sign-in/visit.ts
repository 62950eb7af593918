import type { Call } from '../../../http/route.ts'
import type { SignInClient } from '../login-attempts/operations.ts'

// No header that could be a credential.
const toldHeaders = ['host', 'origin', 'referer', 'user-agent', 'accept-language', 'x-forwarded-for']
const longestHeader = 512

export const visitOf = ({ author, request }: Pick<Call, 'author' | 'request'>): SignInClient => {
  const headers: Record<string, string> = {}
  for (const name of toldHeaders) {
    const value = request.header(name)
    if (value !== undefined) headers[name] = value.slice(0, longestHeader)
  }
  return { author, clientAddress: request.clientAddress, peerAddress: request.peerAddress, headers }
}
