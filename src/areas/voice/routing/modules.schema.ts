import { choice, flag, id, integer, list, must, open, text } from '../../../lib/schema.ts'

export const defaultRingSeconds = 20
export const maxRingSeconds = 600
export const defaultResponseCode = 486

const delay = integer({
  minimum: 0,
  maximum: maxRingSeconds,
  default: 0,
  description: 'Seconds before it rings',
})
const timeout = integer({
  minimum: 1,
  maximum: maxRingSeconds,
  default: defaultRingSeconds,
  description: 'Seconds it rings',
})

const Endpoint = open({
  endpoint_type: must(choice(['user', 'device', 'group'])),
  id: must(id()),
  delay,
  timeout,
  weight: integer({ minimum: 1, maximum: 100, description: 'With `weighted_random`: the heavier first' }),
})

const toNumber = text(0, 64, { description: 'Instead of the dialled number' })
const fromRealm = text(0, 253, { description: 'SIP domain of the caller' })

/** The `data` of the modules that the server carries out. All other modules need a media server. */
export const moduleSchemas = {
  device: open({ id: must(id()), timeout, delay }),
  user: open({ id: must(id()), timeout, delay }),
  ring_group: open({
    endpoints: must(list(Endpoint)),
    strategy: choice(['simultaneous', 'single', 'weighted_random'], { default: 'simultaneous' }),
    repeats: integer({ minimum: 1, maximum: 10, default: 1 }),
  }),
  callflow: open({ id: must(id()) }),
  resources: open({
    to_did: toNumber,
    use_local_resources: flag({ default: true, description: 'Also carriers of the account' }),
    hunt_account_id: text(0, 32, { description: 'The account whose carriers are used' }),
    from_uri_realm: fromRealm,
  }),
  offnet: open({ to_did: toNumber, from_uri_realm: fromRealm }),
  response: open({
    code: integer({ minimum: 400, maximum: 699, default: defaultResponseCode, description: 'SIP code' }),
    message: text(0, 64),
  }),
  hangup: open({}),
}

type ServedModule = keyof typeof moduleSchemas

export const isServed = (module: string): module is ServedModule => Object.hasOwn(moduleSchemas, module)
