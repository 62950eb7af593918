// Pages and order.
import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { Answer, Client } from '../support/world/client.ts'
import { describeEngines, type TestAccount, useWorld } from '../support/world/world.ts'

type Query = Record<string, string | number | boolean>

const idsOf = ({ data }: Answer): string[] => data.map(({ id }: { id: string }) => id)

/** Follows the keys to the end. `between` happens after each page. */
const allPages = async (client: Client, path: string, query: Query, between?: () => Promise<unknown>) => {
  const pages: Answer[] = []
  let start: Query = {}
  for (;;) {
    const page = await client.get(path, { query: { ...query, ...start } })
    expect(page).toSucceed()
    pages.push(page)
    const { next_start_key: key } = page.body
    if (key === undefined) return pages
    start = { start_key: key }
    await between?.()
  }
}

describeEngines('lists', (engine) => {
  const world = useWorld(engine)
  const usersOf = (account: TestAccount) => `${account.path}/users`

  const accountWith = async (count: number) => {
    const account = await world.account(world.acme)
    for (let index = 0; index < count; index += 1) {
      await world.user(account, { first_name: 'N', last_name: `${index}`.padStart(3, '0') })
    }
    return account
  }

  it('come in pages whose keys lead through all rows once', async () => {
    const account = await accountWith(10)
    const pages = await allPages(world.ada, usersOf(account), { page_size: 2 })
    expect(pages.map(({ body }) => body.page_size)).toEqual([2, 2, 2, 2, 2])
    expect(new Set(pages.flatMap(idsOf)).size).toBe(10)
    expect(pages.at(-1)?.body).not.toHaveProperty('next_start_key')
    expect(pages[0]?.body).not.toHaveProperty('start_key')
    expect(pages[1]?.body.start_key).toBe(pages[0]?.body.next_start_key)
    for (const { body } of pages.slice(0, -1)) expect(body.next_start_key).toMatch(/^[A-Za-z0-9_-]+$/)
  })

  it('have a page size that the operator sets', async () => {
    const account = await accountWith(4)
    expect((await world.ada.get(usersOf(account))).body).toMatchObject({ page_size: 4 })
    await world.configure('crossbar', { pagination_page_size: 3 })
    const page = await world.ada.get(usersOf(account))
    expect(page.body).toMatchObject({ page_size: 3, next_start_key: expect.any(String) })
    await world.configure('crossbar', { pagination_page_size: 50 })
  })

  it('have no key on a last page that is just full', async () => {
    const account = await accountWith(3)
    const page = await world.ada.get(usersOf(account), { query: { page_size: 3 } })
    expect(page.body.page_size).toBe(3)
    expect(page.body).not.toHaveProperty('next_start_key')
  })

  it('may be empty', async () => {
    const account = await world.account(world.acme)
    const page = await world.ada.get(usersOf(account))
    expect(page).toSucceedWith([])
    expect(page.body).toMatchObject({ page_size: 0, revision: expect.any(String) })
    expect(page.body).not.toHaveProperty('next_start_key')
  })

  it("begin at the beginning for a start key of a client's own making, where the order is one of time", async () => {
    const account = await world.account(world.reseller)
    await world.credit(account, 5)
    await world.credit(account, 6)
    const madeUp = [
      ['$1', account.id],
      ['1e400', 'x'],
      ['', ''],
      ['-5', '1.5'],
      ['9'.repeat(400), '9'.repeat(400)],
    ]
    for (const list of ['ledgers/payments', 'services/audit', 'transactions', 'invoices', 'cdrs']) {
      const path = `${account.path}/${list}`
      const first = await world.operator.get(path)
      expect(first).toSucceed()
      for (const cursor of madeUp) {
        const start_key = Buffer.from(JSON.stringify(cursor)).toString('base64url')
        expect(await world.operator.get(path, { query: { start_key } })).toSucceedWith(first.data)
      }
    }
    const [{ created }] = (await world.operator.get(`${account.path}/ledgers/payments`)).data
    const bent = Buffer.from(JSON.stringify([String(created).padStart(15, '0'), '1.5e400'])).toString(
      'base64url',
    )
    expect(
      await world.operator.get(`${account.path}/ledgers/payments`, { query: { start_key: bent } }),
    ).toSucceed()
  })

  it('take `bookmark` for start_key', async () => {
    const account = await accountWith(3)
    const [first, second] = await allPages(world.ada, usersOf(account), { page_size: 2 })
    const query = { page_size: 2, bookmark: first?.body.next_start_key as string }
    expect(idsOf(await world.ada.get(usersOf(account), { query }))).toEqual(idsOf(second as Answer))
  })

  it('begin again for a start key that the server did not issue', async () => {
    const account = await accountWith(3)
    const first = await world.ada.get(usersOf(account))
    const forged = [
      '%%%',
      'lol',
      Buffer.from('{"a":1}').toString('base64url'),
      Buffer.from('[1,2]').toString('base64url'),
      Buffer.from('["a\\u0000","b"]').toString('base64url'),
      'x'.repeat(5000),
    ]
    for (const start_key of forged) {
      expect(idsOf(await world.ada.get(usersOf(account), { query: { start_key } }))).toEqual(idsOf(first))
    }
  })

  it('show nothing of another account, whatever the key', async () => {
    const foreign = await world.rex.get(usersOf(world.rival), { query: { page_size: 1 } })
    const key = foreign.body.next_start_key ?? Buffer.from('["",""]').toString('base64url')
    const own = await world.ada.get(usersOf(world.acme), { query: { start_key: key, ascending: true } })
    expect(idsOf(own)).not.toContain(world.rex.id)
  })

  it('refuse page sizes that are none', async () => {
    const refused = async (query: Query, message: string) => {
      const answer = await world.ada.get(usersOf(world.acme), { query })
      expect(answer).toFailWith(404, 'faulty_request', expect.objectContaining({ message }))
    }
    for (const page_size of ['abc', '', '1.5', '1e400', 'NaN', ' '])
      await refused({ page_size }, 'page size must be a number')
    for (const page_size of [0, -1]) await refused({ page_size }, 'page size must be at least 1')
    const odd = { toString: 1, valueOf: 1 }
    for (const name of ['page_size', 'chunk_size']) {
      const envelope = { verb: 'GET', [name]: odd }
      expect(await world.ada.post(usersOf(world.acme), {}, { envelope })).toFailWith(404, 'faulty_request')
    }
    for (const chunk_size of ['abc', 0, 51])
      await refused({ chunk_size }, 'chunk size must be between 1 and 50')
    await refused({ batch_size: 51 }, 'chunk size must be between 1 and 50')
    expect(await world.ada.get(usersOf(world.acme), { query: { page_size: 1e9 } })).toSucceed()
  })

  it('come whole and without paging keys when asked', async () => {
    const account = await accountWith(7)
    for (const more of [{}, { is_chunked: false }, { is_chunked: true }, { page_size: 2 }]) {
      const whole = await world.ada.get(usersOf(account), { query: { paginate: false, ...more } })
      expect(whole).toSucceed()
      expect(whole.data).toHaveLength(7)
      for (const key of ['page_size', 'start_key', 'next_start_key'])
        expect(whole.body).not.toHaveProperty(key)
    }
  })

  it('are refused whole and at once over the memory limit, but may be streamed', async () => {
    const account = await accountWith(4)
    await world.configure('crossbar', { request_memory_limit: 300 })
    const query = { paginate: false, is_chunked: false }
    const answer = await world.ada.get(usersOf(account), { query })
    expect(answer).toFailWith(416, 'range not satisfiable', {})
    const streamed = await world.ada.get(usersOf(account), { query: { paginate: false } })
    expect(streamed.data).toHaveLength(4)
    await world.configure('crossbar', { request_memory_limit: 1_000_000 })
  })

  it('descend unless asked to ascend; descending wins', async () => {
    const account = await accountWith(3)
    const order = async (query: Query) =>
      (await world.ada.get(usersOf(account), { query })).data.map(
        (row: { last_name: string }) => row.last_name,
      )
    const down = ['002', '001', '000']
    expect(await order({})).toEqual(down)
    expect(await order({ descending: true })).toEqual(down)
    expect(await order({ ascending: false })).toEqual(down)
    expect(await order({ ascending: true })).toEqual(down.toReversed())
    expect(await order({ descending: false })).toEqual(down.toReversed())
    expect(await order({ ascending: true, descending: true })).toEqual(down)
  })

  it('do not fold names by the rules of a language', async () => {
    const account = await world.account(world.acme)
    const names = ['Zoe', 'ärger', 'aß', 'ass', 'éclair', '日本', '🦄', 'b']
    for (const last_name of names) await world.user(account, { first_name: 'x', last_name })
    const { data } = await world.ada.get(usersOf(account), { query: { ascending: true } })
    const byBytes = names.toSorted((a, b) =>
      Buffer.compare(Buffer.from(a.toLowerCase()), Buffer.from(b.toLowerCase())),
    )
    expect(data.map((row: { last_name: string }) => row.last_name)).toEqual(byBytes)
  })

  it('joined from pages of any size are the whole list, while records are added', async () => {
    const name = fc
      .string({ unit: 'binary', minLength: 1, maxLength: 20 })
      .filter((text) => !/[\p{Cc}\u2028\u2029]/u.test(text))
    const property = fc.asyncProperty(
      fc.array(name, { minLength: 1, maxLength: 12 }),
      fc.array(name, { maxLength: 4 }),
      fc.integer({ min: 1, max: 5 }),
      fc.boolean(),
      async (names, later, page_size, ascending) => {
        const account = await world.account(world.acme)
        const add = (last_name: string) => world.user(account, { first_name: 'x', last_name })
        const added = new Set<string>()
        const addLater = async () => {
          const next = later.pop()
          if (next !== undefined) added.add((await add(next)).id)
        }
        await Promise.all(names.map(add))
        const whole = idsOf(await world.ada.get(usersOf(account), { query: { paginate: false, ascending } }))
        const pages = await allPages(world.ada, usersOf(account), { page_size, ascending }, addLater)
        const joined = pages.flatMap(idsOf)
        expect(new Set(joined).size).toBe(joined.length)
        expect(joined.filter((id) => !added.has(id))).toEqual(whole)
        const other = await world.ada.get(usersOf(account), {
          query: { paginate: false, ascending: !ascending },
        })
        const after = await world.ada.get(usersOf(account), { query: { paginate: false, ascending } })
        expect(idsOf(other).toReversed()).toEqual(idsOf(after))
      },
    )
    await fc.assert(property, { numRuns: 12 })
  })
})
