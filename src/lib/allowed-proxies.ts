import { list, text } from './schema.ts'

export const AllowedProxies = list(text(1, 64), {
  maxItems: 200,
  description:
    'Addresses and CIDRs from which connections may bring its credentials: those of the reverse proxies in between; empty: any',
})
