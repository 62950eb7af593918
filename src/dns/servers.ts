import { Resolver } from 'node:dns'

/** Where a name server listens. The host may be a name. */
export interface ServerAddress {
  host: string
  port: number
}

export const dnsPort = 53

const bracketed = /^\[([^\]]+)\](?::(\d+))?$/
const named = /^([^:]+)(?::(\d+))?$/

/** `host`, `host:port`, `[2001:db8::1]:53`, or a bare IPv6 address as the system's own list has them. */
export const parseServer = (text: string): ServerAddress => {
  const [, host = text, port] = bracketed.exec(text) ?? named.exec(text) ?? []
  return { host, port: port === undefined ? dnsPort : Number(port) }
}

/** The name servers that this machine is set up with now: a new resolver reads its settings anew. */
export const systemServers = (): ServerAddress[] => new Resolver().getServers().map(parseServer)
