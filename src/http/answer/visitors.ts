import type { Actor } from '../../auth/identity.ts'

// Long enough for the several reads of one page, short enough for somebody who tries a new logo.
const freshSeconds = 60

/** Headers of an answer that anybody may read. An envelope that holds somebody's token is kept by nobody else. */
export const publicly = (visitor: Actor | undefined): Record<string, string> => ({
  'cache-control': visitor ? 'private, no-cache' : `public, max-age=${freshSeconds}`,
  vary: 'X-Auth-Token, Authorization',
})

// Were a browser to take the bytes for a page after all, it would not run anything in it.
export const harmless = { 'content-security-policy': "default-src 'none'; sandbox" }
