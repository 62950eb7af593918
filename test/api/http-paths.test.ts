// The ways to write a path, and to send a verb or a token elsewhere.
import { expect, it } from 'vitest'
import { openRaw } from '../support/servers/raw-connection.ts'
import { credentialsOf, describeAnyEngine, useWorld } from '../support/world/world.ts'

describeAnyEngine('paths', (engine) => {
  const world = useWorld(engine)
  const users = () => `${world.acme.path}/users`

  it('may end with a slash or have empty segments', async () => {
    const plain = await world.ada.get(users())
    for (const path of [`${users()}/`, `${users()}//`, `//v2//accounts/${world.acme.id}//users`]) {
      expect(await world.ada.get(path)).toSucceedWith(plain.data)
    }
  })

  it('may follow the address of a server, whichever that is', async () => {
    const ask = async (target: string) => {
      const raw = await openRaw(world.server.port)
      raw.write(
        `GET ${target} HTTP/1.1\r\nhost: x\r\nx-auth-token: ${world.ada.token}\r\nconnection: close\r\n\r\n`,
      )
      await raw.closed
      const [answer] = raw.answers()
      if (!answer) throw new Error('there is no answer')
      return answer
    }
    for (const server of ['http://127.0.0.1:8000', 'HTTPS://api.example.com', 'http://[::1]:8000']) {
      const listed = await ask(`${server}${users()}?page_size=1`)
      expect(listed.status).toBe(200)
      expect(JSON.parse(listed.body)).toMatchObject({ page_size: 1, status: 'success' })
      expect((await ask(`${server}/healthz`)).status).toBe(200)
    }
    expect((await ask('http://127.0.0.1?x=1')).status).toBe((await ask('/?x=1')).status)
    for (const target of ['http://', 'http:///v2/about', 'ftp://127.0.0.1/v2/about', '*'])
      expect((await ask(target)).status).toBe(400)
  })

  it('are percent-decoded', async () => {
    const encoded = world.uli.id.replace(/^./, (first) => `%${first.charCodeAt(0).toString(16)}`)
    expect((await world.ada.get(`${users()}/${encoded}`)).data.id).toBe(world.uli.id)
  })

  it('are refused when their encoding is broken', async () => {
    for (const broken of ['%', '%zz', '%e0%a4', '%c3%28', '%ff']) {
      const answer = await world.ada.get(`${users()}/${broken}`)
      expect(answer).toFailWith(400, 'validation error', {
        path: { invalid: { message: 'The path is not valid percent-encoding', target: 'path' } },
      })
    }
  })

  it('may hold any text where an id is expected, and find nothing', async () => {
    const hostile = [
      '%00',
      '%F0%9F%A6%84',
      '%2e%2e',
      `'%20OR%201=1--`,
      '__proto__',
      'constructor',
      'x'.repeat(4000),
    ]
    for (const text of hostile) {
      const answer = await world.unchanged(() => world.ada.delete(`${users()}/${text}`))
      expect(answer).toFailWith(404, 'bad_identifier', {
        message: 'bad identifier',
        cause: decodeURIComponent(text),
      })
    }
  })

  it('do not climb out of an account by an encoded slash', async () => {
    const path = `${users()}/..%2f..%2f${world.rival.id}%2fusers%2f${world.rex.id}`
    expect(await world.unchanged(() => world.ada.delete(path))).toFailWith(404, 'bad_identifier')
  })

  it('may call the account of the token just `account`', async () => {
    const own = await world.ada.get('/v2/account')
    expect(own).toSucceedWith((await world.ada.get(world.acme.path)).data)
    expect(await world.ada.get('/v2/account/users')).toSucceedWith((await world.ada.get(users())).data)
    expect(await world.ada.get(`/v2/account/users/${world.uli.id}`)).toSucceed()
    const refused = { message: 'invalid credentials' }
    expect(await world.anonymous.get('/v2/account/users')).toFailWith(401, 'invalid_credentials', refused)
    expect(await world.clientWithToken('lol').get('/v2/account')).toFailWith(401, 'invalid_credentials', {
      message: 'invalid credentials',
    })
  })

  it('outside the API answer for load balancers', async () => {
    expect(await world.anonymous.get('/healthz')).toMatchObject({ status: 200 })
    expect(await world.anonymous.get('/readyz')).toMatchObject({ status: 200 })
  })
})

describeAnyEngine('tunnels', (engine) => {
  const world = useWorld(engine)
  const users = () => `${world.acme.path}/users`
  const name = { first_name: 'A', last_name: 'B' }

  it('carry a verb in the body of a POST', async () => {
    const user = await world.user(world.acme)
    const patched = await world.ada.post(user.path, { note: 'kept' }, { envelope: { verb: 'patch' } })
    expect(patched.data).toMatchObject({ note: 'kept', username: user.username })
    const deleted = await world.ada.post(user.path, {}, { envelope: { verb: 'delete' } })
    expect(deleted.body.metadata.deleted).toBe(true)
    expect(await world.ada.get(user.path)).toFailWith(404, 'bad_identifier')
  })

  it('carry a verb in the query of a POST', async () => {
    expect(await world.ada.post(users(), name, { query: { verb: 'PUT' } })).toSucceed(201)
    expect(await world.ada.post(users(), name, { query: { verb: 'put' } })).toSucceed(201)
  })

  it('carry only verbs that the path takes, and only by POST', async () => {
    const tunnelled = (verb: string) =>
      world.unchanged(() => world.ada.post(world.uli.path, name, { query: { verb } }))
    expect(await tunnelled('PUT')).toFailWith(405, 'invalid_method')
    const query = { verb: 'DELETE' }
    expect(await world.unchanged(() => world.ada.get(world.uli.path, { query }))).toSucceed()
    expect(await world.unchanged(() => world.ada.put(world.uli.path, {}, { query }))).toFailWith(
      405,
      'invalid_method',
    )
  })

  it('do not lead around rights', async () => {
    const query = { verb: 'DELETE' }
    const answer = await world.unchanged(() => world.rex.post(world.uli.path, {}, { query }))
    expect(answer).toFailWith(403, 'forbidden')
  })

  it('carry the accepted type in the query, in full or short', async () => {
    for (const accept of ['csv', 'text/csv', 'CSV']) {
      const answer = await world.ada.get(users(), { query: { accept } })
      expect(answer.headers['content-type']).toBe('text/csv')
    }
    const headers = { accept: 'text/csv' }
    const answer = await world.ada.get(users(), { query: { accept: 'json' }, headers })
    expect(answer.headers['content-type']).toBe('application/json')
    expect(await world.ada.get(users(), { query: { accept: 'pdf' } })).toFailWith(406, 'not_acceptable')
  })

  it('carry a token in query or body, and the header wins', async () => {
    const query = { auth_token: world.ada.token }
    expect(await world.anonymous.get(world.uli.path, { query })).toSucceed()
    const envelope = { auth_token: world.ada.token }
    expect(await world.anonymous.put(users(), name, { envelope })).toSucceed()
    expect(await world.rex.get(world.uli.path, { query })).toFailWith(403, 'forbidden')
    const dashed = { 'Auth-Token': world.ada.token }
    expect(await world.anonymous.put(users(), name, { envelope: dashed })).toSucceed()
  })

  it('carry Authorization in header, query or body, after a token', async () => {
    const basic = `Basic ${Buffer.from(`${world.acme.id}:${credentialsOf('ada', 'ada-secret')}`).toString('base64')}`
    for (const authorization of [basic, `Bearer ${world.ada.token}`, `bearer ${world.ada.token}`]) {
      expect(await world.client({ authorization }).get(world.uli.path)).toSucceed()
      expect(await world.anonymous.get(world.uli.path, { query: { authorization } })).toSucceed()
      expect(await world.anonymous.put(users(), name, { envelope: { authorization } })).toSucceed()
    }
    const mixed = world.client({ authorization: basic, 'x-auth-token': world.rex.token })
    expect(await mixed.get(world.uli.path)).toFailWith(403, 'forbidden')
  })

  it('lead into no script: jsonp is plain JSON', async () => {
    const answer = await world.ada.get(world.uli.path, { query: { jsonp: 'alert' } })
    expect(answer.headers['content-type']).toBe('application/json')
    expect(answer.data.id).toBe(world.uli.id)
  })

  it('have no back door for a header that older servers list', async () => {
    const headers = { 'x-http-method-override': 'DELETE' }
    expect(await world.ada.post(users(), name, { headers })).toFailWith(405, 'invalid_method')
  })
})
