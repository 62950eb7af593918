// More rights than the caller has, and sessions that have ended.
import type { WireRequest } from '../wire.ts'
import { type Asked, asJson, ask, homeOf, isOperator, isOrdinaryUser, type RefusedClass } from './asked.ts'

const name = { first_name: 'More', last_name: 'Power' }
const password = 'Wide-secret-1!'

const signInOf = ({ chance }: Asked) => ({ ...name, username: `wide${chance.below(1e9)}`, password })

const newMail = ({ chance }: Asked) => `wide${chance.below(1e9)}@mail.test`

/** A field that admins decide about, with a value that no record has. */
const marked = ({ chance }: Asked) => ({ flags: [`wide${chance.below(1e9)}`] })

/** Another user of the account. No persona is among these. */
const otherUser = ({ chance, persona }: Asked) =>
  `${homeOf(persona)}/users/${chance.pick(persona.home.ids.user_id ?? []) ?? 'unknown'}`

const resetting = { action: 'reset_signature_secret' }

type Make = (asked: Asked) => WireRequest

const beyondScopes: readonly Make[] = [
  (asked) => asJson(asked.persona, 'PUT', `${homeOf(asked.persona)}/users`, signInOf(asked)),
  (asked) =>
    asJson(asked.persona, 'PUT', `${homeOf(asked.persona)}/users`, {
      ...signInOf(asked),
      scope_restrictions: ['*'],
    }),
  (asked) =>
    asJson(asked.persona, 'PUT', `${homeOf(asked.persona)}/users`, { ...name, email: newMail(asked) }),
  (asked) =>
    asJson(asked.persona, 'PUT', `${homeOf(asked.persona)}/users`, {
      ...name,
      username: `wide${asked.chance.below(1e9)}`,
      email: newMail(asked),
      send_email_on_creation: true,
    }),
  (asked) => asJson(asked.persona, 'PUT', `${otherUser(asked)}/auth`, {}, resetting),
  (asked) => asJson(asked.persona, 'PATCH', otherUser(asked), { password }),
  (asked) => asJson(asked.persona, 'PATCH', otherUser(asked), { email: newMail(asked) }),
  (asked) => asJson(asked.persona, 'PATCH', otherUser(asked), { priv_level: 'admin' }),
  ({ persona }) => asJson(persona, 'PUT', `${homeOf(persona)}/api_keys`, { name: 'More', scopes: ['*'] }),
  ({ persona }) => ask(persona, 'GET', `${homeOf(persona)}/api_key`),
]

export const scopes: RefusedClass = {
  title: 'more than the scopes of a key',
  isFor: ({ actor }) => actor?.scopes !== undefined,
  make: (asked) => asked.chance.pick(beyondScopes)(asked),
}

const beyondUser: readonly Make[] = [
  ({ persona, chance }) => asJson(persona, 'PUT', '/v2/accounts', { name: `Below ${chance.below(1e9)}` }),
  ({ persona, chance }) => asJson(persona, 'PUT', homeOf(persona), { name: `Below ${chance.below(1e9)}` }),
  ({ persona }) => asJson(persona, 'DELETE', `${homeOf(persona)}/whitelabel`, {}),
  // Removing the domain would be correct if an admin has removed it before.
  ({ persona, chance }) =>
    asJson(persona, 'POST', `${homeOf(persona)}/whitelabel`, { domain: `u${chance.below(1e9)}.other.test` }),
  ({ persona, chance }) => ({
    method: 'POST',
    path: `${homeOf(persona)}/whitelabel/${chance.pick(['logo', 'icon', 'welcome'])}`,
    headers: { ...persona.headers, 'content-type': 'image/png' },
    body: Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
  }),
  (asked) =>
    asJson(asked.persona, 'PUT', `${homeOf(asked.persona)}/users`, {
      ...signInOf(asked),
      priv_level: 'admin',
    }),
  (asked) => asJson(asked.persona, 'PATCH', otherUser(asked), { priv_level: 'admin' }),
  (asked) => asJson(asked.persona, 'PATCH', otherUser(asked), { password }),
  (asked) => asJson(asked.persona, 'PATCH', otherUser(asked), { email: newMail(asked) }),
  (asked) => asJson(asked.persona, 'DELETE', otherUser(asked), {}),
  (asked) => asJson(asked.persona, 'PUT', `${otherUser(asked)}/auth`, {}, resetting),
  ({ persona }) => {
    const { userId } = persona.actor ?? {}
    return asJson(persona, 'PATCH', `${homeOf(persona)}/users/${userId}`, { priv_level: 'admin' })
  },
  ({ persona }) => ask(persona, 'GET', `${homeOf(persona)}/api_key`),
  (asked) => asJson(asked.persona, 'PATCH', otherUser(asked), marked(asked)),
  (asked) => asJson(asked.persona, 'PATCH', homeOf(asked.persona), marked(asked)),
  (asked) => {
    const { persona } = asked
    return asJson(persona, 'PATCH', `${homeOf(persona)}/users/${persona.actor?.userId}`, marked(asked))
  },
]

export const users: RefusedClass = {
  title: 'more than an ordinary user may',
  isFor: isOrdinaryUser,
  make: (asked) => asked.chance.pick(beyondUser)(asked),
}

const beyondAccount: readonly Make[] = [
  ({ persona }) => asJson(persona, 'PUT', `${homeOf(persona)}/reseller`, {}),
  (asked) =>
    asJson(asked.persona, 'PUT', `${otherUser(asked)}/user_auth`, {}, { action: 'impersonate_user' }),
  ({ persona }) => asJson(persona, 'POST', `${homeOf(persona)}/move`, { to: persona.home.id }),
  ({ persona }) =>
    asJson(persona, 'PUT', '/v2/resources', { name: 'Mine', gateways: [{ server: 'a.test' }] }),
  ({ persona }) =>
    asJson(persona, 'PATCH', '/v2/system_configs/crossbar', {
      default: { allowed_private_hosts: ['10.1.2.3'] },
    }),
  ({ persona }) => asJson(persona, 'PUT', '/v2/auth', {}, resetting),
]

export const accounts: RefusedClass = {
  title: 'more than an account may',
  isFor: (persona) => persona.actor !== undefined && !isOperator(persona),
  make: (asked) => asked.chance.pick(beyondAccount)(asked),
}

export const endedSessions: RefusedClass = {
  title: 'no valid session',
  isFor: ({ actor }) => actor === undefined,
  make: (asked) => {
    const { chance, persona } = asked
    const home = homeOf(persona)
    return chance.pick<() => WireRequest>([
      () => ask(persona, 'GET', home),
      () => ask(persona, 'GET', `${home}/users`),
      () => ask(persona, 'GET', `${home}/api_key`),
      () => ask(persona, 'GET', '/v2/token_auth'),
      () => asJson(persona, 'PUT', '/v2/auth', {}, { action: 'refresh_token' }),
      () => asJson(persona, 'PUT', `${home}/users`, { ...signInOf(asked), priv_level: 'admin' }),
    ])()
  },
}

const hasReplacedKey: RefusedClass['isFor'] = ({ actor }) => actor?.newKey !== undefined

export const replacedKeys: RefusedClass = {
  title: 'keys and renewal for a session of a replaced API key',
  isFor: hasReplacedKey,
  make: (asked) => {
    const { chance, persona } = asked
    const home = homeOf(persona)
    return chance.pick<() => WireRequest>([
      () => ask(persona, 'GET', `${home}/api_key`),
      () => asJson(persona, 'PUT', `${home}/api_key`, {}),
      () => asJson(persona, 'PUT', `${home}/api_keys`, { name: 'More', scopes: ['*'] }),
      () => asJson(persona, 'PUT', '/v2/auth', {}, { action: 'refresh_token' }),
      () => asJson(persona, 'PUT', `${home}/users`, { ...signInOf(asked), priv_level: 'admin' }),
    ])()
  },
}

export const replacedKeysInAccount: RefusedClass = {
  title: 'the new API key in the account, for a session of a replaced one',
  isFor: hasReplacedKey,
  make: ({ persona }) => ask(persona, 'GET', `${homeOf(persona)}?include_api_key=true`),
  secretOf: ({ actor }) => actor?.newKey,
}
