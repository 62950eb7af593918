// Every field in which a customer writes where calls are sent to. Shared by `npm run attack` and api/sip-destinations.

export interface DestinationField {
  name: string
  /** `uri`: a SIP URI. `host`: a name or an address. `address`: an IP address, `ipv4` of this family only. */
  form: 'uri' | 'host' | 'address' | 'ipv4'
  /** How the path of its validation error starts. */
  at: string
  method: 'PUT' | 'PATCH'
  /** The path below the account. `number` is a number of the account. */
  place(number: string): string
  data(text: string, number: string): object
  /** The operator may write any host. */
  isOperatorFree?: true
}

type Sent = Pick<DestinationField, 'form' | 'at'>

const device = (name: string, form: DestinationField['form'], sip: (text: string) => object) => ({
  name: `device ${name}`,
  form,
  at: `sip.${name}`,
  method: 'PUT' as const,
  place: () => 'devices',
  data: (text: string) => ({ name: 'Desk', sip: sip(text) }),
})

const trunk = (name: string, { form, at }: Sent, server: (text: string, number: string) => object) => ({
  name: `trunk ${name}`,
  form,
  at: `servers.0.${at}`,
  method: 'PUT' as const,
  place: () => 'connectivity',
  data: (text: string, number: string) => ({
    servers: [
      {
        auth: { auth_user: `pbx${number.replace(/\D/g, '')}`, auth_password: 'trunk-secret' },
        ...server(text, number),
      },
    ],
  }),
})

const gateway = (name: string, fields: (text: string) => object) => ({
  name: `${name} of a customer's gateway`,
  form: 'host' as const,
  at: `gateways.0.${name}`,
  method: 'PUT' as const,
  place: () => 'resources',
  data: (text: string) => ({ name: 'Own', rules: ['.'], gateways: [fields(text)] }),
  isOperatorFree: true as const,
})

export const destinationFields: readonly DestinationField[] = [
  device('route', 'uri', (route) => ({ invite_format: 'route', route })),
  device('static_route', 'uri', (static_route) => ({ static_route })),
  device('static_invite', 'uri', (static_invite) => ({ static_invite })),
  device('proxy', 'host', (proxy) => ({ proxy })),
  device('forward', 'uri', (forward) => ({ forward })),
  device('ip', 'ipv4', (ip) => ({ method: 'ip', ip })),
  trunk('address', { form: 'address', at: 'auth.ip' }, (ip) => ({ auth: { auth_method: 'IP', ip } })),
  trunk('host', { form: 'host', at: 'options.ip' }, (ip) => ({ options: { ip } })),
  trunk('failover', { form: 'uri', at: 'options.failover.sip' }, (sip) => ({
    options: { failover: { sip } },
  })),
  trunk('failover of a number', { form: 'uri', at: 'DIDs' }, (sip, number) => ({
    DIDs: { [number]: { failover: { sip } } },
  })),
  {
    name: 'failover of a number',
    form: 'uri',
    at: 'failover.sip',
    method: 'PATCH',
    place: (number) => `phone_numbers/${encodeURIComponent(number)}`,
    data: (sip) => ({ failover: { sip } }),
  },
  gateway('server', (server) => ({ server })),
  gateway('proxy', (proxy) => ({ server: '203.0.113.200', proxy })),
]
