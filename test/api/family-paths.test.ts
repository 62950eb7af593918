// Paths that clients of the family request outside the areas of the description: which ones exist, and the
// status of unknown paths for each caller. Clients read 401 as the end of their session, so the server uses it
// for nothing else.
import { expect, it } from 'vitest'
import { describeAnyEngine, useWorld } from '../support/world/world.ts'

describeAnyEngine('paths of the family', (engine) => {
  const world = useWorld(engine)
  const nobody = 'f'.repeat(32)
  const credentials = { message: 'invalid credentials' }

  const unbuilt = [
    ['external_numbers', 'external_numbers'],
    ['braintree/customer', 'braintree'],
    ['braintree/cards/token', 'braintree'],
    ['braintree/credits', 'braintree'],
    ['vmboxes', 'vmboxes'],
  ] as const

  it.each([
    'search?t=account&q=name&v=a',
    'notifications',
    'service_plans',
    'descendants',
    'children',
    'tree',
  ])('has %s', async (path) => {
    expect(await world.ada.get(`${world.acme.path}/${path}`)).toSucceed()
  })

  it.each(['users', 'limits', 'ledgers', 'ledgers/total', 'transactions', 'callflows', 'devices', 'groups'])(
    'has %s',
    async (path) => {
      expect(await world.ada.get(`${world.acme.path}/${path}`)).toSucceed()
    },
  )

  it.each(['multi_factor', 'security', 'apps_store', 'apps_store/blacklist', 'alerts', 'phone_numbers'])(
    'has %s',
    async (path) => {
      expect(await world.ada.get(`${world.acme.path}/${path}`)).toSucceed()
    },
  )

  it.each(unbuilt)('answers %s with a 404 and the reason in the envelope', async (path, named) => {
    for (const method of ['GET', 'PUT', 'POST', 'PATCH', 'DELETE'] as const) {
      const data = method === 'GET' ? undefined : { ui_metadata: { ui: 'console' } }
      const answer = await world.unchanged(() =>
        world.ada.request(method, `${world.acme.path}/${path}`, data),
      )
      expect(answer).toFailWith(404, 'not_found', { message: `${named} is not part of Crosspoint` })
      expect(answer.headers['content-type']).toBe('application/json')
    }
  })

  it('answers a path that is not there alike, whosever account it is below, as long as the token is good', async () => {
    for (const id of [world.acme.id, world.rival.id, world.reseller.id, nobody, 'lol'])
      for (const path of ['external_numbers', 'nosuch'])
        expect(await world.ada.get(`/v2/accounts/${id}/${path}`)).toFailWith(404, 'not_found')
    expect(await world.ada.get('/v2/nosuch')).toFailWith(404, 'not_found')
  })

  it('answers 401 to a bad token, whatever the path', async () => {
    const stranger = world.clientWithToken('lol')
    for (const path of ['external_numbers', 'nosuch', 'users'])
      for (const id of [world.acme.id, nobody])
        expect(await stranger.get(`/v2/accounts/${id}/${path}`)).toFailWith(
          401,
          'invalid_credentials',
          credentials,
        )
  })

  it('answers a valid token with 403 below a foreign account', async () => {
    for (const path of ['users', 'apps_store', 'limits'])
      expect(await world.ada.get(`${world.rival.path}/${path}`)).toFailWith(403, 'forbidden')
  })

  it('answers a good token below an account that does not exist, or is gone, with 401', async () => {
    const gone = await world.account(world.acme)
    expect(await world.ada.delete(gone.path)).toSucceed()
    for (const id of [nobody, 'lol', gone.id])
      for (const path of ['', '/users', '/apps_store'])
        expect(await world.ada.get(`/v2/accounts/${id}${path}`)).toFailWith(
          401,
          'invalid_credentials',
          credentials,
        )
    expect(await world.ada.get(world.acme.path)).toSucceed()
  })

  it('answers 404 without a token for an unknown path below an account', async () => {
    for (const id of [world.acme.id, nobody])
      expect(await world.anonymous.get(`/v2/accounts/${id}/external_numbers`)).toFailWith(404, 'not_found')
    expect(await world.anonymous.get('/v2/nosuch')).toFailWith(401, 'invalid_credentials', credentials)
  })

  it('takes one token for such an answer, from the bucket of the account, and none for a preflight', async () => {
    const account = await world.account(world.reseller)
    const admin = await world.admin(account)
    await world.configure('crossbar', { token_costs: 1 })
    try {
      const remaining = async (path: string) => {
        const { body } = await admin.get(`${account.path}/${path}`)
        return [body.tokens?.consumed, body.tokens?.remaining]
      }
      expect(await remaining('users')).toEqual([1, 99])
      expect(await remaining('external_numbers')).toEqual([1, 98])
      expect(await remaining('braintree/customer')).toEqual([1, 97])
      const headers = { origin: 'https://console.example.test', 'access-control-request-method': 'GET' }
      const preflight = await world.anonymous.options(`${account.path}/braintree/customer`, { headers })
      expect([preflight.status, preflight.text]).toEqual([200, ''])
      expect(await remaining('users')).toEqual([1, 96])
    } finally {
      await world.configure('crossbar', { token_costs: 0 })
    }
  })
})
