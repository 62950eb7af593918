// A whole list equals its pages in order, on the first and on later requests.
import { expect, it } from 'vitest'
import type { Json } from '../../src/lib/json.ts'
import { accountWithMany } from '../support/world/many-accounts.ts'
import { describeEngines, type TestAccount, useWorld } from '../support/world/world.ts'

const oddNames = ['Zoë "Z"', 'back\\slash', "it's", 'wide\u2003space', '🎈 }{ ],[', ' ', 'é', 'ß']
const directions = [true, false]

describeEngines('whole lists', (engine) => {
  const world = useWorld(engine)

  const pagesOf = async (path: string, ascending: boolean) => {
    const rows: Json[] = []
    const keys: string[] = []
    for (;;) {
      const start = keys.length > 0 ? { start_key: String(keys.at(-1)) } : {}
      const { data, body } = await world.operator.get(path, { query: { page_size: 49, ascending, ...start } })
      rows.push(...data)
      if (!body.next_start_key) return { rows, keys }
      keys.push(body.next_start_key)
    }
  }

  /** Byte for byte, from the beginning and from behind each page. */
  const areTheirPages = async (path: string, count: number) => {
    for (const ascending of directions) {
      const { rows, keys } = await pagesOf(path, ascending)
      expect(rows).toHaveLength(count)
      for (const [index, start_key] of [undefined, ...keys].entries()) {
        const query = { paginate: false, ascending, ...(start_key ? { start_key } : {}) }
        const list = `{"data":${JSON.stringify(rows.slice(49 * index))},`
        // The second time it is kept, and the third time that is sent.
        for (let time = 0; time < 3; time += 1) {
          const { text } = await world.operator.get(path, { query })
          expect(text.startsWith(list)).toBe(true)
        }
      }
    }
  }

  it('of users', async () => {
    const account = await world.account(world.acme)
    // Many have the same name, and so the same place but for their ids.
    const names = [...oddNames, ...Array.from({ length: 130 }, (_, index) => `Same ${index % 3}`)]
    await Promise.all(names.map((last_name) => world.user(account, { first_name: 'x', last_name })))
    await areTheirPages(`${account.path}/users`, names.length)
  })

  it('of the devices of one user', async () => {
    const account = await world.account(world.acme)
    const user = await world.user(account)
    const add = (name: string, more: Json) => world.operator.put(`${account.path}/devices`, { name, ...more })
    await Promise.all(oddNames.flatMap((name) => [add(name, { owner_id: user.id }), add(name, {})]))
    await areTheirPages(`${user.path}/devices`, oddNames.length)
    await areTheirPages(`${account.path}/devices`, 2 * oddNames.length)
  })

  it('of accounts, with how many are below each, or who is above', async () => {
    const crowd: TestAccount = await accountWithMany(world, 700)
    const odd = []
    for (const [index, name] of oddNames.entries())
      odd.push(await world.account(crowd, { name: `${name}${index}`, flags: [name] }))
    for (const account of odd.slice(0, 3)) await world.chain(2, account)
    await areTheirPages(`${crowd.path}/children`, 700 + oddNames.length)
    await areTheirPages(`${crowd.path}/descendants`, 700 + oddNames.length + 6)
  })

  it('may be empty', async () => {
    const account = await world.account(world.acme)
    for (const list of ['users', 'children', 'descendants'])
      expect(
        (await world.operator.get(`${account.path}/${list}`, { query: { paginate: false } })).data,
      ).toEqual([])
  })
})
