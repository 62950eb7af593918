// Endpoints: the common rules.
import { expect, it } from 'vitest'
import { describeAnyEngine, useWorld } from '../support/world/world.ts'

const namesIn = (header: unknown) => String(header).toLowerCase().split(', ')

const allowedHeaders = [
  ...['Content-Type', 'Depth', 'User-Agent', 'X-File-Size', 'X-Requested-With', 'If-Modified-Since'],
  ...['X-File-Name', 'Cache-Control', 'X-Auth-Token', 'If-Match'],
]

describeAnyEngine('Endpoints: conventions', (engine) => {
  const world = useWorld(engine)

  it('the token is sent in header X-Auth-Token', async () => {
    const { acme, ada } = world
    const answer = await world.client({ 'X-Auth-Token': ada.token }).get(acme.path)
    expect(answer).toSucceed()
    expect(answer.body.auth_token).toBe(ada.token)
  })

  it('methods used: GET, PUT, POST, PATCH, DELETE', async () => {
    const { acme, ada } = world
    const made = await ada.put(`${acme.path}/users`, { first_name: 'Max', last_name: 'Method' })
    const path = `${acme.path}/users/${made.data.id}`
    const user = made.data
    expect(await ada.get(path)).toSucceedWith(user)
    expect(await ada.post(path, { ...user, last_name: 'Posted' })).toSucceedWith({
      ...user,
      last_name: 'Posted',
    })
    expect(await ada.patch(path, { last_name: 'Patched' })).toSucceedWith({ ...user, last_name: 'Patched' })
    expect(await ada.delete(path)).toSucceedWith({ ...user, last_name: 'Patched' })
    expect(await ada.get(path)).toFailWith(404, 'bad_identifier')
  })

  it('responses allow CORS, refusals and preflights too', async () => {
    const { acme, ada, anonymous } = world
    const origin = { headers: { origin: 'https://console.example' } }
    const answers = [
      await ada.get(acme.path, origin),
      await anonymous.get(acme.path, origin),
      await anonymous.options(acme.path, origin),
    ]
    expect(answers.map(({ status }) => status)).toEqual([200, 401, 200])
    for (const { headers } of answers) {
      expect(headers['access-control-allow-origin']).toBe('*')
      expect(headers['access-control-max-age']).toBe('86400')
      expect(namesIn(headers['access-control-allow-methods'])).toEqual(
        expect.arrayContaining(['get', 'post', 'put', 'delete', 'options', 'head']),
      )
      expect(namesIn(headers['access-control-allow-headers'])).toEqual(
        expect.arrayContaining(allowedHeaders.map((name) => name.toLowerCase())),
      )
      expect(namesIn(headers['access-control-expose-headers'])).toEqual(
        expect.arrayContaining(['content-type', 'x-auth-token', 'x-request-id', 'location', 'etag']),
      )
    }
  })

  it('every response carries X-Request-ID, the one of its envelope', async () => {
    const { acme, ada, anonymous } = world
    for (const answer of [await ada.get(acme.path), await anonymous.get(acme.path)]) {
      expect(answer.headers['x-request-id']).toMatch(/^[0-9a-f]{32}$/)
      expect(answer.body.request_id).toBe(answer.headers['x-request-id'])
    }
    expect((await anonymous.options(acme.path)).headers['x-request-id']).toMatch(/^[0-9a-f]{32}$/)
  })

  it('bodies of write requests are {data: <record>}', async () => {
    const { acme, ada } = world
    const headers = { 'content-type': 'application/json' }
    const sent = (body: object) =>
      ada.request('PATCH', acme.path, undefined, { headers, body: JSON.stringify(body) })
    expect((await sent({ data: { org: 'Acme & Co.' } })).data.org).toBe('Acme & Co.')
    expect(await world.unchanged(() => sent({ org: 'Bare' }))).toBreak({ data: ['required'] })
  })

  it('raw content is sent as it is, where it is stated', async () => {
    const { acme, ada } = world
    const query = { category: 'number_management', action: 'find' }
    const headers = { 'content-type': 'text/csv' }
    const made = await ada.put(`${acme.path}/tasks`, undefined, {
      query,
      headers,
      body: 'e164\n+14155550100',
    })
    expect(made.body.metadata.total_count).toBe(1)
  })
})
