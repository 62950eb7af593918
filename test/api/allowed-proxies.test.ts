// Accounts and users that may be reached through certain proxies alone.
import { expect, it } from 'vitest'
import type { Answer } from '../support/world/client.ts'
import { credentialsOf, describeAnyEngine, useWorld } from '../support/world/world.ts'

const refusal = {
  message: 'forbidden',
  cause: 'allowed_proxy_ips does not contain the address of this connection',
}

// Tests come from 127.0.0.1.
const [elsewhere, here] = [
  ['192.0.2.1', '2001:db8::/32'],
  ['192.0.2.1', '127.0.0.0/8'],
]

describeAnyEngine('allowed proxies', (engine) => {
  const world = useWorld(engine)

  const placeIn = async () => {
    const account = await world.account(world.reseller)
    const amy = await world.admin(account, { username: 'amy', password: 'amy-secret' })
    const key = await world.keyHolder(account)
    const basic = Buffer.from(`${account.id}:${credentialsOf('amy', 'amy-secret')}`).toString('base64')
    const logIn = () =>
      world.anonymous.put('/v2/user_auth', {
        credentials: credentialsOf('amy', 'amy-secret'),
        account_realm: account.realm,
      })
    return { account, amy, key, basic: world.anonymous.with({ authorization: `Basic ${basic}` }), logIn }
  }

  it('of an account restrict its tokens, keys and passwords at once, and no others', async () => {
    const { account, amy, key, basic, logIn } = await placeIn()
    expect(await world.ross.patch(account.path, { allowed_proxy_ips: elsewhere })).toSucceed()
    for (const caller of [amy, key, basic])
      expect(await caller.get(`${account.path}/users`)).toFailWith(403, 'forbidden', refusal)
    expect(await world.unchanged(logIn)).toFailWith(403, 'forbidden', refusal)
    expect(await world.ross.get(`${account.path}/users`)).toSucceed()
    expect(await world.ross.patch(account.path, { allowed_proxy_ips: here })).toSucceed()
    for (const caller of [amy, key, basic]) expect(await caller.get(`${account.path}/users`)).toSucceed()
    expect(await logIn()).toSucceed()
  })

  it('of an account restrict sign-in with its API key', async () => {
    const { account } = await placeIn()
    const { data } = await world.ross.get(`${account.path}/api_key`)
    const logIn = () => world.anonymous.put('/v2/api_auth', { api_key: data.api_key })
    await world.ross.patch(account.path, { allowed_proxy_ips: elsewhere })
    expect(await logIn()).toFailWith(403, 'forbidden', refusal)
    await world.ross.patch(account.path, { allowed_proxy_ips: [] })
    expect(await logIn()).toSucceed()
  })

  it('of a user restrict only that user', async () => {
    const { account, amy, key, logIn } = await placeIn()
    await world.ross.patch(amy.path, { allowed_proxy_ips: elsewhere })
    expect(await amy.get(amy.path)).toFailWith(403, 'forbidden', refusal)
    expect(await logIn()).toFailWith(403, 'forbidden', refusal)
    expect(await key.get(`${account.path}/users`)).toSucceed()
  })

  it('are addresses and networks, said by admins, who do not lock themselves out', async () => {
    const { account, amy } = await placeIn()
    const uma = await world.user(account)
    const cases: [() => Promise<Answer>, Record<string, string[]>][] = [
      [
        () => amy.patch(account.path, { allowed_proxy_ips: ['127.0.0.1', 'proxy.test'] }),
        { 'allowed_proxy_ips.1': ['wrong_format'] },
      ],
      [() => amy.patch(account.path, { allowed_proxy_ips: elsewhere }), { allowed_proxy_ips: ['invalid'] }],
      [() => amy.patch(amy.path, { allowed_proxy_ips: elsewhere }), { allowed_proxy_ips: ['invalid'] }],
      [() => uma.patch(account.path, { allowed_proxy_ips: here }), { allowed_proxy_ips: ['forbidden'] }],
      [() => uma.patch(uma.path, { allowed_proxy_ips: here }), { allowed_proxy_ips: ['forbidden'] }],
    ]
    for (const [act, broken] of cases) expect(await world.unchanged(act)).toBreak(broken)
    expect(await amy.patch(uma.path, { allowed_proxy_ips: elsewhere })).toSucceed()
  })
})
