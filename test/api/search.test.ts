import { expect, it } from 'vitest'
import { describeEngines, useWorld } from '../support/world/world.ts'

const namesOf = ({ data }: { data: { name: string }[] }) => data.map(({ name }) => name)

describeEngines('search', (engine) => {
  const world = useWorld(engine, async ({ account, reseller }) => {
    await account(reseller, { name: 'Zebra Ltd.', realm: 'zebra-1.test' })
    await account(reseller, { name: 'zeb-ra & Sons', realm: 'zebra-2.test' })
    await account(reseller, { name: 'Zulu', realm: 'zulu.test' })
  })

  const search = (query: Record<string, string>) => ({ query })

  it('finds accounts below by how their name begins, whatever its spelling', async () => {
    const answer = await world.ross.get('/v2/search', {
      query: { t: 'account', q: 'name', v: 'ZEB-ra', ascending: true },
    })
    expect(answer.data).toEqual([
      { id: expect.any(String), name: 'Zebra Ltd.', realm: 'zebra-1.test', descendants_count: 0 },
      { id: expect.any(String), name: 'zeb-ra & Sons', realm: 'zebra-2.test', descendants_count: 0 },
    ])
  })

  it('finds accounts by realm and by id', async () => {
    const byRealm = await world.ross.get('/v2/search', search({ t: 'account', q: 'realm', v: 'zebra2' }))
    expect(namesOf(byRealm)).toEqual(['zeb-ra & Sons'])
    const byId = await world.ross.get('/v2/search', search({ t: 'account', q: 'id', v: world.acme.id }))
    expect(namesOf(byId)).toEqual(['Acme'])
  })

  it('finds only below the caller, or below the account in the path', async () => {
    const question = search({ t: 'account', q: 'name', v: '' })
    expect(namesOf(await world.ada.get('/v2/search', question))).toEqual([])
    expect(namesOf(await world.ross.get('/v2/search', question))).not.toContain('Reseller')
    expect(namesOf(await world.operator.get('/v2/search', question))).toContain('Reseller')
    expect(namesOf(await world.operator.get(`${world.reseller.path}/search`, question))).not.toContain(
      'Reseller',
    )
    expect(await world.ada.get(`${world.reseller.path}/search`, question)).toFailWith(403, 'forbidden')
    expect(await world.rex.get(`${world.acme.path}/search`, question)).toFailWith(403, 'forbidden')
  })

  it('finds everything when v is empty, or named without a value', async () => {
    const wanted = ['Zulu', 'Zebra Ltd.', 'zeb-ra & Sons']
    for (const query of ['t=account&q=name&v=', 't=account&q=name&v', 't=account&q=name&v=true']) {
      expect(namesOf(await world.ross.get('/v2/search', { query }))).toEqual(expect.arrayContaining(wanted))
    }
  })

  it('pages through what it finds, each once', async () => {
    const account = await world.account(world.reseller)
    for (const name of ['Page 3', 'Page 1', 'Page 2', 'Other'])
      await world.account(account, { name: `${account.name} ${name}` })
    const found: string[] = []
    let key: string | undefined
    do {
      const query: Record<string, string> = {
        t: 'account',
        q: 'name',
        v: `${account.name} page`,
        page_size: '2',
      }
      const answer = await world.operator.get(`${account.path}/search`, {
        query: key ? { ...query, start_key: key } : query,
      })
      found.push(...namesOf(answer))
      key = answer.body.next_start_key
    } while (key)
    expect(found).toEqual(['Page 3', 'Page 2', 'Page 1'].map((name) => `${account.name} ${name}`))
  })

  it('finds accounts where they are after a move and a new name', async () => {
    const from = await world.account(world.reseller)
    const to = await world.account(world.reseller)
    const moved = await world.account(from, { name: `Mover of ${from.name}` })
    const child = await world.account(moved, { name: `Mover's child of ${from.name}` })
    const below = async (account: { path: string }, v: string) =>
      namesOf(await world.operator.get(`${account.path}/search`, search({ t: 'account', q: 'name', v })))
    expect(await below(from, 'mover')).toHaveLength(2)
    expect(await world.operator.post(`${moved.path}/move`, { to: to.id })).toSucceed()
    expect(await below(from, 'mover')).toEqual([])
    expect(await below(to, 'mover')).toHaveLength(2)
    await world.operator.patch(child.path, { name: `Settler of ${from.name}` })
    expect(await below(to, 'settler')).toEqual([`Settler of ${from.name}`])
    expect(await below(moved, 'movers')).toEqual([])
    await world.operator.delete(child.path)
    expect(await below(to, 'settler')).toEqual([])
  })

  it('finds users by name and user name, in their account only', async () => {
    const byName = await world.ada.get('/v2/search', search({ t: 'user', q: 'name', v: 'uli' }))
    expect(byName.data.map(({ username }: { username: string }) => username)).toEqual(['uli'])
    const byUsername = await world.ada.get('/v2/search', search({ t: 'user', q: 'username', v: 'AD' }))
    expect(byUsername.data.map(({ username }: { username: string }) => username)).toEqual(['ada'])
    expect((await world.rex.get('/v2/search', search({ t: 'user', q: 'name', v: 'uli' }))).data).toEqual([])
    const inAcme = search({ t: 'user', q: 'name', v: 'ada' })
    expect((await world.ross.get(`${world.acme.path}/search`, inAcme)).data).toHaveLength(1)
  })

  it('finds a user by the new name and no longer by the old one', async () => {
    const user = await world.user(world.acme, { first_name: 'Winnifred', last_name: 'Old' })
    await world.ada.patch(user.path, { first_name: 'Xaver' })
    const find = async (v: string) =>
      (await world.ada.get('/v2/search', search({ t: 'user', q: 'name', v }))).data.length
    expect([await find('winni'), await find('xaver o')]).toEqual([0, 1])
    await world.ada.delete(user.path)
    expect(await find('xaver')).toBe(0)
  })

  it('finds devices by name', async () => {
    const phone = await world.device(world.acme, { name: 'Kitchen phone' })
    const answer = await world.ada.get('/v2/search', search({ t: 'device', q: 'name', v: 'kitchenp' }))
    expect(answer.data).toMatchObject([{ id: phone.id, name: 'Kitchen phone' }])
  })

  it('reports missing and unknown parameters', async () => {
    expect(await world.ada.get('/v2/search')).toBreak({ t: ['required'], q: ['required'], v: ['required'] })
    const wrong = await world.ada.get('/v2/search', search({ t: 'account', q: 'colour', v: 'x' }))
    expect(wrong).toFailWith(400, 'validation error', {
      q: {
        enum: {
          message: 'Value not found in enumerated list of values',
          target: ['name', 'realm', 'id'],
          cause: 'colour',
        },
      },
    })
    expect(await world.ada.get('/v2/search', search({ t: 'planet', q: 'name', v: 'x' }))).toBreak({
      t: ['enum'],
    })
  })

  it('asks several fields at once', async () => {
    const query = { t: 'account', by_name: 'zeb', by_realm: 'zulu' }
    const answer = await world.ross.get('/v2/search/multi', { query })
    expect(namesOf({ data: answer.data.name })).toEqual(['Zebra Ltd.', 'zeb-ra & Sons'])
    expect(namesOf({ data: answer.data.realm })).toEqual(['Zulu'])
    expect(await world.ross.get('/v2/search/multi', { query: { t: 'account' } })).toBreak({ multi: ['enum'] })
    expect(await world.ross.get(`${world.reseller.path}/search/multi`, { query })).toSucceedWith(answer.data)
    expect(await world.ada.get(`${world.reseller.path}/search/multi`, { query })).toFailWith(403, 'forbidden')
  })

  it('takes hostile text for what it is', async () => {
    for (const v of ["'; DROP TABLE records; --", '%', '_', '\u{10ffff}', 'ä'.repeat(2000), '\0', '💥'])
      expect(await world.ada.get('/v2/search', search({ t: 'user', q: 'username', v }))).toSucceed()
  })
})
