// Which error wins, and what errors look like.
import { expect, it } from 'vitest'
import { notForCaller } from '../support/matchers/refusals.ts'
import { describeAnyEngine, useWorld } from '../support/world/world.ts'

const noId = '0123456789abcdef0123456789abcdef'
const credentials = { message: 'invalid credentials' }

describeAnyEngine('the order of checks', (engine) => {
  const world = useWorld(engine)
  const users = () => `${world.acme.path}/users`
  const badJson = { body: '{"data":' }

  it('knows only version 2, whatever else is wrong', async () => {
    const answer = await world.anonymous.post('/v1/accounts', undefined, badJson)
    expect(answer).toFailWith(410, 'gone', { message: 'only version 2 of this API is supported' })
  })

  it('does not know paths without a version', async () => {
    expect(await world.ada.get('/accounts')).toFailWith(404, 'not_found', { message: 'not found' })
    expect(await world.ada.get('/v3/accounts')).toFailWith(404, 'not_found')
  })

  it('reads the body before it asks who is calling', async () => {
    expect(await world.anonymous.put(users(), undefined, badJson)).toFailWith(400, 'validation error')
  })

  it('refuses a bad token before it looks for the path', async () => {
    const stranger = world.clientWithToken('lol')
    expect(await stranger.get(`${world.acme.path}/nosuch`)).toFailWith(401, 'invalid_credentials', {
      message: 'invalid credentials',
    })
    expect(await stranger.put(world.uli.path)).toFailWith(401, 'invalid_credentials', {
      message: 'invalid credentials',
    })
    expect(await stranger.get(world.acme.path)).toFailWith(401, 'invalid_credentials', {
      message: 'invalid credentials',
    })
  })

  it('answers 404 for a bad path below a known resource before it asks for a token', async () => {
    expect(await world.anonymous.get(`${world.acme.path}/nosuch`)).toFailWith(404, 'not_found')
    expect(await world.ada.get(`${world.acme.path}/nosuch`)).toFailWith(404, 'not_found')
    expect(await world.ada.get('/v2/accounts/a/b/c/d/e/f/g')).toFailWith(404, 'not_found')
  })

  it('names what other servers of the family have and this one has not', async () => {
    for (const name of ['menus', 'vmboxes', 'port_requests'])
      expect(await world.ada.get(`${world.acme.path}/${name}`)).toFailWith(404, 'not_found', {
        message: `${name} is not part of Crosspoint`,
      })
  })

  it('answers 401 to a stranger who names no resource at all, 404 to others', async () => {
    expect(await world.anonymous.get('/v2/nosuch')).toFailWith(401, 'invalid_credentials', credentials)
    expect(await world.ada.get('/v2/nosuch')).toFailWith(404, 'not_found')
  })

  it('refuses a method before it asks for a token, and says which ones there are', async () => {
    const answer = await world.anonymous.put(`/v2/accounts/${noId}/users/${noId}`)
    expect(answer).toFailWith(405, 'invalid_method', { message: 'method not allowed' })
    const methods = String(answer.headers.allow).split(', ')
    expect(methods).toEqual(['DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH', 'POST'])
  })

  it('answers 401 for an account that does not exist or is no id', async () => {
    for (const id of [noId, 'lol', 'ABCDEF', `${world.acme.id}0`, '%00', '%F0%9F%A6%84', '..%2f']) {
      const answer = await world.ada.get(`/v2/accounts/${id}`)
      expect(answer).toFailWith(401, 'invalid_credentials', { message: 'invalid credentials' })
    }
  })

  it('asks for a token before it looks at rights', async () => {
    const answer = await world.anonymous.get(world.acme.path)
    expect(answer).toFailWith(401, 'invalid_credentials', credentials)
    expect(answer.body.version).toBeUndefined()
  })

  it('keeps accounts that are not below the caller to themselves', async () => {
    for (const path of [world.reseller.path, world.rival.path, world.master.path]) {
      const answer = await world.unchanged(() => world.ada.get(path))
      expect(answer).toFailWith(403, 'forbidden', notForCaller)
    }
  })

  it('checks rights before content types and records', async () => {
    const path = `${world.rival.path}/users/${noId}`
    const headers = { 'content-type': 'application/xml', accept: 'image/png' }
    const answer = await world.unchanged(() => world.ada.post(path, undefined, { headers, body: '<a/>' }))
    expect(answer).toFailWith(403, 'forbidden')
  })

  it('checks content types before records', async () => {
    const options = { headers: { 'content-type': 'application/xml' }, body: '<a/>' }
    const sent = await world.unchanged(() => world.ada.post(`${users()}/${noId}`, undefined, options))
    expect(sent).toFailWith(415, 'unsupported_media_type')
    const asked = await world.ada.get(`${users()}/${noId}`, { headers: { accept: 'image/png' } })
    expect(asked).toFailWith(406, 'not_acceptable')
  })

  it('looks for the record before it validates the body', async () => {
    const answer = await world.unchanged(() => world.ada.post(`${users()}/${noId}`, { first_name: 5 }))
    expect(answer).toFailWith(404, 'bad_identifier', { message: 'bad identifier', cause: noId })
  })

  it('validates the body before the precondition', async () => {
    const headers = { 'if-match': '"old"' }
    const bad = await world.unchanged(() => world.ada.patch(world.uli.path, { first_name: '' }, { headers }))
    expect(bad).toBreak({ first_name: ['minLength'] })
    const good = await world.unchanged(() =>
      world.ada.patch(world.uli.path, { first_name: 'Ulrich' }, { headers }),
    )
    expect(good).toFailWith(412, 'precondition failed')
  })

  it('does not mind a bad token where none is needed', async () => {
    const answer = await world.clientWithToken('lol').put('/v2/user_auth', {})
    expect(answer).toBreak({ credentials: ['required'] })
  })

  it('takes no record of another kind under a path', async () => {
    const answer = await world.unchanged(() => world.ada.delete(`${users()}/${world.acme.id}`))
    expect(answer).toFailWith(404, 'bad_identifier', { message: 'bad identifier', cause: world.acme.id })
  })

  it('finds no record of another account through the own one', async () => {
    const path = `${users()}/${world.rex.id}`
    for (const method of ['GET', 'POST', 'PATCH', 'DELETE']) {
      const answer = await world.unchanged(() => world.ada.request(method, path, {}))
      expect(answer).toFailWith(404, 'bad_identifier', { message: 'bad identifier', cause: world.rex.id })
    }
  })

  it('names the callers that may use a path', async () => {
    const cause = 'may be called by: admin of account or ancestor'
    expect(await world.uli.post(`${world.acme.path}/services/topup`, { amount: 5 })).toFailWith(
      403,
      'forbidden',
      {
        message: 'forbidden',
        cause,
      },
    )
  })

  it('does not tell a foreign record from one that does not exist', async () => {
    const path = (id: string) => `${world.rival.path}/users/${id}`
    for (const id of [world.rex.id, noId]) {
      const answer = await world.unchanged(() => world.ada.patch(path(id), { first_name: 'Eve' }))
      expect(answer).toFailWith(403, 'forbidden', notForCaller)
    }
  })

  it('believes X-Auth-Account-ID only when it names the account of the token', async () => {
    const named = (id: string) => world.ada.get(world.acme.path, { headers: { 'x-auth-account-id': id } })
    expect(await named(world.acme.id)).toSucceed()
    expect(await named(world.rival.id)).toFailWith(401, 'invalid_credentials', credentials)
  })

  it('lists the expected and the offered types in the envelope of 406 and 415', async () => {
    const sent = await world.ada.put(users(), undefined, {
      headers: { 'content-type': 'text/csv' },
      body: 'a',
    })
    expect(sent).toFailWith(415, 'unsupported_media_type', {
      message: 'this content type is not accepted here',
      target: ['application/json'],
    })
    const asked = await world.ada.get(users(), { headers: { accept: 'text/html' } })
    expect(asked).toFailWith(406, 'not_acceptable', {
      message: 'no representation matches Accept',
      target: ['application/json', 'text/csv'],
    })
  })

  it('takes the best of several accepted types', async () => {
    const accept = (header: string) => world.ada.get(users(), { headers: { accept: header } })
    expect((await accept('text/html, */*;q=0.1')).headers['content-type']).toBe('application/json')
    expect((await accept('application/json;q=0.2, text/csv')).headers['content-type']).toBe('text/csv')
    expect((await accept('text/*')).headers['content-type']).toBe('text/csv')
  })
})
