import { createRequire } from 'node:module'

// 240 KB of data: read with the first host name that is checked.
const load = createRequire(import.meta.url)
const library = (): typeof import('tldts') => load('tldts')

/** Whether a host is on publicsuffix.org, such as `co.uk`: different owners have the names below it. */
export const isPublicSuffix = (host: string): boolean => {
  const { publicSuffix, isIcann, isPrivate } = library().parse(host, {
    allowPrivateDomains: true,
    validateHostname: false,
  })
  return publicSuffix === host && (isIcann === true || isPrivate === true)
}
