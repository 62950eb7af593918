import { list, text } from './schema.ts'

export const AllowedProxies = list(text(1, 64), {
  maxItems: 200,
  description:
    'Addresses and CIDRs of the reverse proxies over which its credentials may be used; empty: any',
})
