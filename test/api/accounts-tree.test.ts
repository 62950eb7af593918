// Accounts above and below.
import { expect, it } from 'vitest'
import type { Json } from '../../src/lib/json.ts'
import type { Client } from '../support/world/client.ts'
import { describeEngines, type TestAccount, useWorld, type World } from '../support/world/world.ts'

const row = ({ id, name, realm }: TestAccount, more: Json = {}) => ({ id, name, realm, flags: [], ...more })
const ascending = { query: { ascending: true } }

const idsAt = async (client: Client, path: string): Promise<string[]> => {
  const answer = await client.get(path, { query: { paginate: false, ascending: true } })
  expect(answer).toSucceed()
  return answer.data.map(({ id }: Json) => id)
}

const fieldOf = async (world: World, { path }: TestAccount, field: string) =>
  (await world.operator.get(path)).data[field]

describeEngines('the account tree', (engine) => {
  const world = useWorld(engine)

  const countOf = (account: TestAccount) => fieldOf(world, account, 'descendants_count')

  it('lists children by name, with the number of accounts below each', async () => {
    const parent = await world.account(world.acme)
    const b = await world.account(parent, { name: 'B tree', flags: ['x'] })
    const a = await world.account(parent, { name: 'a tree' })
    await world.chain(2, b)
    expect(await world.ada.get(`${parent.path}/children`, ascending)).toSucceedWith([
      row(a, { descendants_count: 0 }),
      row(b, { descendants_count: 2, flags: ['x'] }),
    ])
  })

  it('lists descendants with the accounts above each', async () => {
    const [top, middle, leaf] = await world.chain(3, world.acme)
    const above = [world.master.id, world.reseller.id, world.acme.id, top.id]
    const answer = await world.ada.get(`${top.path}/descendants`, ascending)
    expect(answer).toSucceedWith([
      row(middle as TestAccount, { tree: above }),
      row(leaf as TestAccount, { tree: [...above, middle?.id] }),
    ])
  })

  it('lists what is above, top first, from the caller downwards', async () => {
    const [one, two, three, four, leaf] = (await world.chain(5, world.acme)) as TestAccount[]
    const below = [one, two, three, four].map((account) => account?.id)
    for (const list of ['tree', 'parents']) {
      const seen = (client: Client) => idsAt(client, `${leaf?.path}/${list}`)
      expect(await seen(world.ada)).toEqual([world.acme.id, ...below])
      expect(await seen(world.ross)).toEqual([world.reseller.id, world.acme.id, ...below])
      expect(await seen(world.operator)).toEqual([
        world.master.id,
        world.reseller.id,
        world.acme.id,
        ...below,
      ])
      expect(await seen(await world.user(leaf as TestAccount))).toEqual([])
    }
    const { data } = await world.ada.get(`${two?.path}/parents`)
    expect(data).toEqual([row(world.acme), row(one as TestAccount)])
  })

  it('lists siblings, but not one’s own', async () => {
    const parent = await world.account(world.acme)
    const a = await world.account(parent)
    const b = await world.account(parent)
    const expected = [a, b].map((account) => row(account, { descendants_count: 0 }))
    expect(await world.ada.get(`${a.path}/siblings`, ascending)).toSucceedWith(expected)
    const own = await world.admin(a)
    expect(await own.get(`${a.path}/siblings`)).toFailWith(403, 'forbidden')
    await world.configure('crossbar.accounts', { allow_sibling_listing: false })
    expect(await world.ada.get(`${a.path}/siblings`)).toFailWith(403, 'forbidden')
    expect(await world.operator.get(`${a.path}/siblings`, ascending)).toSucceedWith(expected)
    await world.configure('crossbar.accounts', { allow_sibling_listing: true })
  })

  it('shows nothing of strangers', async () => {
    for (const list of ['children', 'descendants', 'siblings', 'parents', 'tree', 'api_key'])
      expect(await world.rex.get(`${world.acme.path}/${list}`)).toFailWith(403, 'forbidden')
  })

  it('can be filtered, paged and read as CSV', async () => {
    const parent = await world.account(world.acme)
    await Promise.all(['x', 'y', 'z'].map((org) => world.account(parent, { org })))
    const path = `${parent.path}/children`
    const filtered = await world.ada.get(path, { query: { filter_org: 'y' } })
    expect(filtered.body.page_size).toBe(1)
    const page = await world.ada.get(path, { query: { page_size: 2 } })
    const start_key = page.body.next_start_key as string
    const rest = await world.ada.get(path, { query: { page_size: 2, start_key } })
    expect([...page.data, ...rest.data]).toHaveLength(3)
    const csv = await world.ada.get(path, { query: { accept: 'csv' } })
    expect(csv.text).toMatch(/^id,name,realm,flags,descendants_count\r\n/)
  })

  it('counts right when accounts come and go', async () => {
    const [top, middle, leaf] = (await world.chain(3, world.acme)) as [TestAccount, TestAccount, TestAccount]
    expect(await Promise.all([top, middle, leaf].map(countOf))).toEqual([2, 1, 0])
    const more = await Promise.all([world.account(middle), world.account(middle), world.account(top)])
    expect(await Promise.all([top, middle].map(countOf))).toEqual([5, 3])
    await Promise.all([...more, leaf].map(({ path }) => world.ada.delete(path)))
    expect(await Promise.all([top, middle].map(countOf))).toEqual([1, 0])
  })
})

describeEngines('the API key of an account', (engine) => {
  const world = useWorld(engine)
  const path = () => `${world.acme.path}/api_key`

  it('is not shown to an ordinary user, who would act as an admin with it', async () => {
    expect(await world.uli.get(path())).toFailWith(403, 'forbidden')
    const query = { include_api_key: true }
    const { body } = await world.uli.get(world.acme.path, { query })
    expect(body.metadata).not.toHaveProperty('api_key')
  })
  const aKey = expect.stringMatching(/^[0-9a-f]{64}$/)

  it('can be read, also with the account', async () => {
    const answer = await world.ada.get(path())
    expect(answer).toSucceedWith({ api_key: aKey })
    const query = { include_api_key: true }
    const { body } = await world.ada.get(world.acme.path, { query })
    expect(body.metadata.api_key).toBe(answer.data.api_key)
    expect(body.data).not.toHaveProperty('api_key')
    expect((await world.ada.get(world.acme.path)).body.metadata).not.toHaveProperty('api_key')
  })

  it('is another one after a reset', async () => {
    const before = (await world.ada.get(path())).data.api_key
    const answer = await world.ada.put(path(), {})
    expect(answer).toSucceedWith({ api_key: aKey })
    expect(answer.data.api_key).not.toBe(before)
    expect((await world.ada.get(path())).data).toEqual(answer.data)
  })

  it('is reset by admins only, and by people only', async () => {
    for (const client of [world.uli, world.acmeKey, world.rex]) {
      const answer = await world.unchanged(() => client.put(path(), {}))
      expect(answer).toFailWith(403, 'forbidden')
    }
    expect(await world.ross.put(path(), {})).toSucceed()
  })

  it('is nowhere in clear in the store', async () => {
    const { api_key } = (await world.ada.get(path())).data
    expect(JSON.stringify(await world.snapshot())).not.toContain(api_key)
  })
})
