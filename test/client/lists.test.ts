// The typed client: lists page by page, and as CSV.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { CrosspointError } from '../../client/src/core.ts'
import { createCsvReader } from '../../client/src/csv.ts'
import { pagesBy, rowsOf } from '../../client/src/pages.ts'
import { plainCsvLine } from '../../src/lib/csv.ts'
import { clientAs, serverOf } from '../support/world/crosspoint.ts'
import { legOf, nowOf, sendLegs } from '../support/world/legs.ts'
import { describeAnyEngine, useWorld } from '../support/world/world.ts'

const all = async <T>(rows: AsyncIterable<T>): Promise<T[]> => {
  const found: T[] = []
  for await (const row of rows) found.push(row)
  return found
}

describe('CSV that arrives in pieces', () => {
  const anyCell = fc.oneof(fc.string({ unit: 'grapheme' }), fc.stringMatching(/^[a",\r\n]{0,6}$/))

  it('is read as it was written, wherever the pieces end', () => {
    const table = fc.array(fc.array(anyCell, { minLength: 2, maxLength: 4 }), { maxLength: 6 })
    fc.assert(
      fc.property(table, fc.array(fc.nat(40), { maxLength: 12 }), (rows, cuts) => {
        const text = rows.map((row) => plainCsvLine(row)).join('')
        const places = [0, ...cuts.map((cut) => Math.min(cut, text.length)), text.length].sort(
          (a, b) => a - b,
        )
        const reader = createCsvReader()
        const lines = places.flatMap((place, index) => reader.take(text.slice(place, places[index + 1])))
        expect([...lines, ...reader.end()]).toEqual(rows)
      }),
    )
  })

  it('ends with a line that has no end', () => {
    const reader = createCsvReader()
    expect(reader.take('a,b\n,"1')).toEqual([['a', 'b']])
    expect(reader.take('""')).toEqual([])
    expect(reader.take('2"')).toEqual([])
    expect(reader.end()).toEqual([['', '1"2']])
  })
})

describe('pages', () => {
  it('end where a key leads nowhere new, instead of going round', async () => {
    const read = async (startKey: string | undefined) => ({ data: [startKey], next_start_key: 'a' })
    expect(await all(pagesBy(read))).toHaveLength(2)
  })

  it('have rows in an array, or under their ids', () => {
    expect(rowsOf([1, 2])).toEqual([1, 2])
    expect(rowsOf({ numbers: { '+1': { state: 'in_service' } } })).toEqual([
      { id: '+1', state: 'in_service' },
    ])
    expect(() => rowsOf({ name: 'Acme' })).toThrow('the answer is no list')
  })
})

describeAnyEngine('a list of the typed client', (engine) => {
  const world = useWorld(engine)

  /** An account with this number of phones, and a client of its admin. */
  const place = async (phones: number) => {
    const account = await world.account()
    const admin = await world.admin(account)
    const names = Array.from({ length: phones }, (_phone, index) => `Phone, "${index}"`)
    for (const name of names) await world.device(account, { name })
    const client = await clientAs(admin, serverOf(world))
    return { account, names, client, path: `${account.path}/devices` }
  }

  it('is read over all of its pages, each row once', async () => {
    const { client, path, names } = await place(7)
    const rows = await all(client.eachOf<{ name: string }>(path, { page_size: 2, ascending: true }))
    expect(rows.map(({ name }) => name)).toEqual(names)
    const pages = await all(client.pagesOf(path, { page_size: 3 }))
    expect(pages.map(({ data }) => data.length)).toEqual([3, 3, 1])
    expect(pages.at(-1)?.next_start_key).toBeUndefined()
  })

  it('continues if records change while it is read', async () => {
    const { client, path, account, names } = await place(6)
    const seen: string[] = []
    for await (const { name, id } of client.eachOf<{ name: string; id: string }>(path, {
      page_size: 2,
      ascending: true,
    })) {
      seen.push(name)
      if (seen.length === 3) await world.operator.delete(`${path}/${id}`)
      if (seen.length === 4) await world.device(account, { name: 'A new first one' })
    }
    expect(seen).toEqual(names)
  })

  it('is empty where there is nothing', async () => {
    const { client, path } = await place(0)
    expect(await all(client.eachOf(path))).toEqual([])
    expect(await all(client.csv(path))).toEqual([])
  })

  it('of numbers has rows with ids', async () => {
    const account = await world.account(world.reseller)
    await world.operator.patch(account.path, { wnm_allow_additions: true })
    const numbers = ['+14155550111', '+14155550112', '+14155550113']
    for (const number of numbers)
      expect(
        await world.operator.put(`${account.path}/phone_numbers/${encodeURIComponent(number)}`, {}),
      ).toSucceed()
    const client = await clientAs(world.operator, serverOf(world))
    const rows = await all(
      client.eachOf<{ id: string; state: string }>(`${account.path}/phone_numbers`, { page_size: 2 }),
    )
    expect(rows.map(({ id }) => id).sort()).toEqual(numbers)
    expect(rows[0]).toMatchObject({ state: expect.any(String) })
  })

  it('is read as CSV in rows, all of it unless a page is asked for', async () => {
    const { client, path, names } = await place(5)
    const rows = await all(client.csv(path, { query: { ascending: true } }))
    expect(rows.map(({ name }) => name)).toEqual(names)
    expect(await all(client.csv(path, { query: { page_size: 2 } }))).toHaveLength(2)
  })

  it('is read as the bytes that the server sends', async () => {
    const account = await world.account()
    const legs = Array.from({ length: 3 }, () => legOf(account, nowOf(world), { caller_id_name: 'Zoë, "Z"' }))
    await sendLegs(world, legs)
    const client = await clientAs(world.operator, serverOf(world))
    const sheet = client.csv(`${account.path}/cdrs`)
    const text = await new Response(await sheet.bytes()).text()
    const asked = { query: { accept: 'text/csv', paginate: 'false' } }
    expect(text).toBe((await world.operator.get(`${account.path}/cdrs`, asked)).text)
    expect((await all(sheet)).map(({ caller_id_name }) => caller_id_name)).toEqual(legs.map(() => 'Zoë, "Z"'))
  })

  it('that may not be read is an error, as CSV too', async () => {
    const client = await clientAs(world.ada, serverOf(world))
    const path = `${world.rival.path}/devices`
    await expect(all(client.csv(path))).rejects.toBeInstanceOf(CrosspointError)
    await expect(all(client.eachOf(path))).rejects.toMatchObject({ status: 403 })
  })
})
