import { expect, it } from 'vitest'
import { version } from '../../src/version.ts'
import { nowOf } from '../support/world/legs.ts'
import { describeAnyEngine, useWorld } from '../support/world/world.ts'

describeAnyEngine('The response envelope', (engine) => {
  const world = useWorld(engine)

  const served = () => ({
    request_id: expect.stringMatching(/^\S+$/),
    node: expect.stringMatching(/^\S+$/),
    timestamp: '2026-01-05T12:00:00.000Z',
    tokens: { consumed: 0, remaining: 100 },
  })

  it('of a success is status, data, metadata, request_id, revision, auth_token, timestamp, version, node', async () => {
    const path = `${world.acme.path}/access_lists`
    const list = { order: 'allow,deny', cidrs: ['192.0.2.0/24'] }
    const answer = await world.ada.post(path, list)
    expect(answer.body).toEqual({
      status: 'success',
      data: list,
      metadata: { id: world.acme.id, created: nowOf(world), modified: nowOf(world) },
      revision: expect.stringMatching(/^\S+$/),
      auth_token: world.ada.token,
      version,
      ...served(),
    })
  })

  it('of a failure is status `error`, the error, its message, and in data its details', async () => {
    const answer = await world.ada.get(`${world.acme.path}/alerts/nothing`)
    expect(answer.body).toEqual({
      status: 'error',
      error: '404',
      message: 'bad_identifier',
      data: { message: 'bad identifier', cause: 'nothing' },
      metadata: {},
      auth_token: world.ada.token,
      version,
      ...served(),
    })
  })

  it('status: string, `success` or `error`', async () => {
    expect((await world.ada.get(world.acme.path)).body.status).toBe('success')
    expect((await world.rex.get(world.acme.path)).body.status).toBe('error')
  })

  it('data: object, array or string: the payload', async () => {
    const whitelabel = `${world.reseller.path}/whitelabel`
    expect((await world.ross.get(world.reseller.path)).data).toMatchObject({ name: 'Reseller' })
    expect((await world.ross.get(`${whitelabel}/emails`)).data).toEqual([])
    const sent = await world.ross.put(`${whitelabel}/emails`, { email: 'help@reseller.test' })
    expect(sent.data).toBe('A verification code was sent to the email address')
  })

  it('data: on errors the error details', async () => {
    const answer = await world.unchanged(() => world.ada.patch(world.acme.path, { name: 5 }))
    expect(answer).toFailWith(400, 'validation error', {
      name: { type: { message: 'Value did not match type(s): string', target: 'string', value: 5 } },
    })
  })

  it('error, message: the HTTP status code as a string and a short name; only on errors', async () => {
    const failed = await world.anonymous.get(world.acme.path)
    expect([failed.status, failed.body.error, failed.body.message]).toEqual([
      401,
      '401',
      'invalid_credentials',
    ])
    const { body } = await world.ada.get(world.acme.path)
    expect(body).not.toHaveProperty('error')
    expect(body).not.toHaveProperty('message')
  })

  it('request_id: string, the identifier of the request', async () => {
    const answers = [await world.ada.get(world.acme.path), await world.rex.get(world.acme.path)]
    const ids = answers.map(({ body }) => body.request_id)
    expect(ids).toEqual(answers.map(({ headers }) => headers['x-request-id']))
    expect(new Set(ids).size).toBe(2)
  })

  it('revision: string, the same until the record changes', async () => {
    const { path } = await world.device(world.acme)
    const { revision } = (await world.ada.get(path)).body
    expect((await world.ada.get(path)).body.revision).toBe(revision)
    expect((await world.ada.patch(path, { name: 'Desk' })).body.revision).not.toBe(revision)
  })

  it('auth_token: string, echoes the token used', async () => {
    expect((await world.uli.get(world.acme.path)).body.auth_token).toBe(world.uli.token)
    expect((await world.anonymous.get('/v2/tasks')).body).not.toHaveProperty('auth_token')
  })

  it('page_size, next_start_key: on paginated lists, the key while there is a further page', async () => {
    const account = await world.account(world.acme)
    for (const name of ['One', 'Two', 'Three']) await world.device(account, { name })
    const page = async (query: Record<string, string | number>) =>
      world.ada.get(`${account.path}/devices`, { query: { page_size: 2, ...query } })
    const first = await page({})
    expect(first.body).toMatchObject({ page_size: 2, next_start_key: expect.stringMatching(/^\S+$/) })
    const last = await page({ start_key: String(first.body.next_start_key) })
    expect(last.body.page_size).toBe(1)
    expect(last.body).not.toHaveProperty('next_start_key')
    const names = [...first.data, ...last.data].map(({ name }) => name)
    expect(names.sort()).toEqual(['One', 'Three', 'Two'])
  })

  it('metadata: object, of the record or the list; may be empty', async () => {
    const { data, body } = await world.ada.get(world.acme.path)
    expect(body.metadata).toMatchObject({ id: world.acme.id, created: data.created })
    expect((await world.ada.get(`${world.acme.path}/alerts`)).body.metadata).toEqual({})
  })
})
