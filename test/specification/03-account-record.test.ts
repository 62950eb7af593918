import { expect, it } from 'vitest'
import { nowOf } from '../support/world/legs.ts'
import { describeAnyEngine, useWorld } from '../support/world/world.ts'

describeAnyEngine('The account record', (engine) => {
  const world = useWorld(engine)

  it('is returned by GET of an account', async () => {
    const { data } = await world.ada.put(world.acme.path, { name: 'Branch', realm: 'branch.test' })
    expect(await world.ada.get(`/v2/accounts/${data.id}`)).toSucceedWith({
      id: expect.stringMatching(/^[0-9a-f]{32}$/),
      name: 'Branch',
      realm: 'branch.test',
      reseller_id: world.reseller.id,
      language: 'en-US',
      timezone: 'UTC',
      is_reseller: false,
      enabled: true,
      superduper_admin: false,
      knm_allow_additions: false,
      wnm_allow_additions: false,
      descendants_count: 0,
      created: nowOf(world),
      modified: nowOf(world),
      caller_id: { internal: { name: '' }, external: { name: '' }, emergency: { name: '' } },
      blacklists: [],
      available_apps: [],
      billing_mode: 'manual',
      call_restriction: {},
      music_on_hold: {},
    })
  })

  it('is visible only to users of the account and to admins above it', async () => {
    for (const person of [world.uli, world.ada, world.ross, world.operator])
      expect((await person.get(world.acme.path)).data.name).toBe('Acme')
    expect(await world.rex.get(world.acme.path)).toFailWith(403, 'forbidden')
    expect(await world.anonymous.get(world.acme.path)).toFailWith(401, 'invalid_credentials')
  })

  it.each([
    ['name: string', { name: 5 }, { name: ['type'] }],
    ['realm: string', { realm: 5 }, { realm: ['type'] }],
    ['language: string', { language: 5 }, { language: ['type'] }],
    ['timezone: string', { timezone: 5 }, { timezone: ['type'] }],
    ['enabled: boolean', { enabled: 'perhaps' }, { enabled: ['type'] }],
    [
      'caller_id: object with keys internal, external, emergency; each an object with a string name',
      { caller_id: { internal: 'Acme', external: { name: 5 }, emergency: { name: [] } } },
      {
        'caller_id.internal': ['type'],
        'caller_id.external.name': ['type'],
        'caller_id.emergency.name': ['type'],
      },
    ],
    [
      'blacklists, available_apps: array',
      { blacklists: 'all', available_apps: {} },
      { blacklists: ['type'], available_apps: ['type'] },
    ],
  ])('%s', async (_row, wrong, rules) => {
    expect(await world.unchanged(() => world.ross.patch(world.acme.path, wrong))).toBreak(rules)
  })

  it('id, reseller_id, is_reseller, superduper_admin, descendants_count, created: are the server’s', async () => {
    const { data: before } = await world.ada.get(world.acme.path)
    const claims = {
      id: world.rival.id,
      reseller_id: world.rival.id,
      is_reseller: true,
      superduper_admin: true,
      descendants_count: 7,
      created: 1,
    }
    expect(await world.ada.patch(world.acme.path, claims)).toSucceedWith(before)
  })

  it('reseller_id, is_reseller: string and boolean, the nearest reseller above and whether it is one itself', async () => {
    const { data: reseller } = await world.ross.get(world.reseller.path)
    expect([reseller.is_reseller, reseller.reseller_id]).toEqual([true, world.master.id])
    const { data: customer } = await world.ada.get(world.acme.path)
    expect([customer.is_reseller, customer.reseller_id]).toEqual([false, world.reseller.id])
  })

  it('superduper_admin: boolean, true for the operator’s account', async () => {
    expect((await world.operator.get(world.master.path)).data.superduper_admin).toBe(true)
    expect((await world.ross.get(world.reseller.path)).data.superduper_admin).toBe(false)
  })

  it('knm_allow_additions: boolean, whether numbers may be added; set by the operator', async () => {
    const { path } = await world.account(world.reseller)
    await world.ross.patch(path, { wnm_allow_additions: true })
    expect((await world.ross.get(path)).data.knm_allow_additions).toBe(false)
    await world.operator.patch(path, { wnm_allow_additions: true })
    expect((await world.ross.get(path)).data.knm_allow_additions).toBe(true)
  })

  it('descendants_count: integer, all accounts below', async () => {
    const top = await world.account(world.reseller)
    await world.chain(3, top)
    expect((await world.ross.get(top.path)).data.descendants_count).toBe(3)
  })
})
