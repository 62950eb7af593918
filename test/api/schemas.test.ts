import { expect, it } from 'vitest'
import { describeAnyEngine, useWorld } from '../support/world/world.ts'

describeAnyEngine('schemas', (engine) => {
  const world = useWorld(engine)

  it('lists its names in order, without a token', async () => {
    const answer = await world.anonymous.get('/v2/schemas')
    expect(answer).toSucceed()
    expect(answer.data).toEqual([...answer.data].sort())
    expect(answer.data).toEqual(
      expect.arrayContaining([
        'access_lists',
        'accounts',
        'devices',
        'rate_limits',
        'service_plans',
        'system_config.crossbar',
        'token_restrictions',
        'users',
      ]),
    )
  })

  it('shows a schema without a token', async () => {
    const answer = await world.anonymous.get('/v2/schemas/access_lists')
    expect(answer).toSucceed()
    expect(answer.data).toMatchObject({
      id: 'access_lists',
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      required: ['order', 'cidrs'],
      properties: { order: { type: 'string', enum: ['allow,deny', 'deny,allow'] } },
    })
  })

  it('lists the settings of each callflow module that the server carries out', async () => {
    const { data: names } = await world.anonymous.get('/v2/schemas')
    const modules = ['callflow', 'device', 'hangup', 'offnet', 'resources', 'response', 'ring_group', 'user']
    expect(names.filter((name: string) => name.startsWith('callflows.'))).toEqual(
      modules.map((module) => `callflows.${module}`),
    )
    expect((await world.anonymous.get('/v2/schemas/callflows.user')).data).toMatchObject({
      required: ['id'],
      properties: { timeout: { type: 'integer', minimum: 1, maximum: 600, default: 20 } },
    })
  })

  it('shows every schema that it lists', async () => {
    for (const name of (await world.anonymous.get('/v2/schemas')).data) {
      expect((await world.anonymous.get(`/v2/schemas/${name}`)).data).toMatchObject({
        id: name,
        type: 'object',
      })
    }
  })

  it.each(['nosuch', 'toString', '__proto__', '%00'])('answers 404 for %s', async (name) => {
    expect(await world.anonymous.get(`/v2/schemas/${name}`)).toFailWith(404, 'bad_identifier')
    expect(await world.ada.put(`/v2/schemas/${name}/validation`, {})).toFailWith(404, 'bad_identifier')
  })

  it('echoes valid data with its defaults', async () => {
    const data = { order: 'allow,deny', cidrs: ['10.0.0.0/8'] }
    expect(await world.uli.put('/v2/schemas/access_lists/validation', data)).toSucceedWith(data)
    const user = await world.uli.put('/v2/schemas/users/validation', { first_name: 'A', last_name: 'B' })
    expect(user).toSucceed()
    expect(user.data).toMatchObject({ first_name: 'A', last_name: 'B', enabled: true, priv_level: 'user' })
  })

  it('returns the broken rules and changes nothing', async () => {
    const before = await world.snapshot()
    expect(await world.ada.put('/v2/schemas/access_lists/validation', { order: 'x', cidrs: 'y' })).toBreak({
      order: ['enum'],
      cidrs: ['type'],
    })
    expect(await world.ada.put('/v2/schemas/users/validation', {})).toBreak({
      first_name: ['required'],
      last_name: ['required'],
    })
    expect(await world.snapshot()).toEqual(before)
  })

  it('asks for a token to validate', async () => {
    expect(await world.anonymous.put('/v2/schemas/users/validation', {})).toFailWith(
      401,
      'invalid_credentials',
    )
  })

  it('casts texts unless validation is strict, here and wherever a record is written', async () => {
    const device = { name: 'Desk', enabled: 'true', sip: { expire_seconds: '60' } }
    const lenient = await world.ada.put('/v2/schemas/devices/validation', device)
    expect(lenient.data).toMatchObject({ enabled: true, sip: { expire_seconds: 60 } })

    await world.configure('crossbar', { schema_strict_validation: true })
    const before = await world.snapshot()
    const broken = { enabled: ['type'], 'sip.expire_seconds': ['type'] }
    expect(await world.ada.put('/v2/schemas/devices/validation', device)).toBreak(broken)
    const user = { first_name: 'A', last_name: 'B', enabled: 'true' }
    expect(await world.ada.put(`${world.acme.path}/users`, user)).toBreak({ enabled: ['type'] })
    expect(await world.snapshot()).toEqual(before)

    await world.configure('crossbar', { schema_strict_validation: false })
    expect((await world.ada.put(`${world.acme.path}/users`, user)).data.enabled).toBe(true)
  })
})
