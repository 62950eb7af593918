import { isPrivateAddress, namesHost } from '../lib/private-address.ts'
import type { Calls } from '../outgoing/calls.ts'
import { DnsFault, dnsPort, parseServer, type ServerAddress, systemServers } from './exchange.ts'
import {
  createResolver,
  type DnsTimeouts,
  type LookUp,
  type LookUpOptions,
  type Resolver,
} from './resolver.ts'

export interface Dns extends Resolver {
  /** The name servers of a domain or of its parent; none if others are configured. */
  authoritiesOf(domain: string, manner: LookUpOptions): Promise<ServerAddress[]>
}

interface Deps {
  /** `host:port` of the name servers. Empty: those of the machine. */
  servers: readonly string[]
  calls: Calls
  /** Allowed hosts in private networks. */
  allowedPrivateHosts(): Promise<readonly string[]>
  machineServers?: () => readonly ServerAddress[]
  patience?: DnsTimeouts
  /** Port of name servers that were found by DNS. */
  authorityPort?: number
}

const maxAuthorities = 4

/** The domain and its parents, down to two labels. */
const climb = (domain: string): string[] => {
  const labels = domain.split('.')
  return labels.slice(0, Math.max(labels.length - 1, 0)).map((_, at) => labels.slice(at).join('.'))
}

/** With metrics and spans, which do not contain the names of customers. */
const watched = (resolver: Resolver, calls: Calls): Resolver => {
  const find: Resolver['find'] = (question, manner) =>
    calls.watch(
      {
        purpose: 'dns',
        name: `look up ${question.type}`,
        kind: 'client',
        facts: {
          'network.protocol.name': 'dns',
          'network.transport': manner.tcp ? 'tcp' : 'udp',
          'crosspoint.dns_record_type': question.type,
        },
        outcomeOf: () => 'done',
        faultOf: (error) => (error instanceof DnsFault ? error.kind : 'unreachable'),
      },
      () => resolver.find(question, manner),
    )
  return { find, lookUp: async (question, manner) => (await find(question, manner)).records }
}

export const createDns = (tools: Deps): Dns => {
  const configured = tools.servers.map(parseServer)
  const { authorityPort = dnsPort, machineServers = systemServers } = tools
  const servers = configured.length > 0 ? () => configured : machineServers
  const resolver = watched(createResolver(servers, tools.patience), tools.calls)

  const recordsOf = async (question: LookUp, manner: LookUpOptions): Promise<string[]> => {
    try {
      return await resolver.lookUp(question, manner)
    } catch (error) {
      if (error instanceof DnsFault) return []
      throw error
    }
  }

  const namesOf = async (domain: string, manner: LookUpOptions): Promise<string[]> => {
    for (const name of climb(domain)) {
      const names = await recordsOf({ name, type: 'NS' }, manner)
      if (names.length > 0) return names
    }
    return []
  }

  const addressesOf = async (name: string, manner: LookUpOptions) => {
    const [four, six] = await Promise.all([
      recordsOf({ name, type: 'A' }, manner),
      recordsOf({ name, type: 'AAAA' }, manner),
    ])
    const allowed = await tools.allowedPrivateHosts()
    // Customers choose the name servers of their domains: they must not be in our own network.
    return [...four, ...six].filter(
      (address) => !isPrivateAddress(address) || namesHost(allowed, name, address),
    )
  }

  return {
    ...resolver,

    async authoritiesOf(domain, manner) {
      if (configured.length > 0) return []
      const names = (await namesOf(domain, manner)).slice(0, maxAuthorities)
      const addresses = await Promise.all(names.map((name) => addressesOf(name, manner)))
      return addresses.flatMap((found) => found.slice(0, 1)).map((host) => ({ host, port: authorityPort }))
    },
  }
}
