import { describe, expect, it } from 'vitest'
import type { Json } from '../../src/lib/json.ts'
import { describeEngines, type Person, useWorld } from '../support/world/world.ts'

const all = '/v2/rates'

const filled = (data: Json) => ({
  rate_increment: 60,
  rate_minimum: 60,
  rate_nocharge_time: 0,
  rate_surcharge: 0,
  routes: [`^\\+?${data.prefix}.+$`],
  ...data,
})

describeEngines('rates', (engine) => {
  const world = useWorld(engine)
  let decks = 0
  const newDeck = () => {
    decks += 1
    return `deck-${decks}`
  }

  const create = async (fields: Json) => {
    const answer = await world.operator.put(all, { rate_cost: 0.1, ...fields })
    expect(answer).toSucceed()
    return answer.data as Json & { id: string }
  }

  const priceOf = (number: string, query: Record<string, string> = {}) =>
    world.operator.get(`${all}/number/${encodeURIComponent(number)}`, { query })

  const noRate = { message: 'No rate found for this number' }

  describe('as records', () => {
    it('are created with their defaults, the route made from the prefix', async () => {
      const data = { prefix: 1, rate_cost: 0.00435, description: 'North America', iso_country_code: 'US' }
      const answer = await world.operator.put(all, data)
      expect(answer).toSucceedWith(filled({ ...data, id: answer.data.id, ratedeck_id: 'ratedeck' }))
      expect(answer.data.id).toMatch(/^[0-9a-f]{32}$/)
      expect(await world.operator.get(`${all}/${answer.data.id}`)).toSucceedWith(answer.data)
      expect(await world.operator.delete(`${all}/${answer.data.id}`)).toSucceedWith(answer.data)
      expect(await world.operator.get(`${all}/${answer.data.id}`)).toFailWith(404, 'bad_identifier', {
        message: 'bad identifier',
        cause: answer.data.id,
      })
    })

    it('are replaced and changed; a route made from the prefix follows it, another one stays', async () => {
      const deck = newDeck()
      const made = await create({ prefix: 44, ratedeck_id: deck })
      const path = `${all}/${made.id}`
      expect(await world.operator.post(path, { prefix: 4420, rate_cost: 0.2 })).toSucceedWith(
        filled({ id: made.id, prefix: 4420, rate_cost: 0.2, ratedeck_id: deck }),
      )
      expect(await world.operator.patch(path, { prefix: 4421 })).toSucceedWith(
        filled({ id: made.id, prefix: 4421, rate_cost: 0.2, ratedeck_id: deck }),
      )
      const routes = ['^\\+44(20|21)']
      expect((await world.operator.patch(path, { routes })).data.routes).toEqual(routes)
      expect((await world.operator.patch(path, { prefix: 44 })).data.routes).toEqual(routes)
    })

    it('keep a number that came as text, as older clients send prefixes', async () => {
      const made = await create({ prefix: '4930', rate_cost: '0.0125', ratedeck_id: newDeck() })
      expect(made).toMatchObject({ prefix: 4930, rate_cost: 0.0125 })
    })

    it('are refused with what is wrong, and nothing is stored', async () => {
      const refused = (data: Json) => world.unchanged(() => world.operator.put(all, data))
      expect(await refused({})).toBreak({ prefix: ['required'], rate_cost: ['required'] })
      expect(
        await refused({
          prefix: 0,
          rate_cost: -1,
          rate_increment: 0,
          rate_minimum: 0,
          rate_surcharge: -0.1,
          weight: 101,
          direction: ['sideways'],
          ratedeck_id: 'a/b',
        }),
      ).toBreak({
        prefix: ['minimum'],
        rate_cost: ['minimum'],
        rate_increment: ['minimum'],
        rate_minimum: ['minimum'],
        rate_surcharge: ['minimum'],
        weight: ['maximum'],
        'direction.0': ['enum'],
        ratedeck_id: ['pattern'],
      })
      expect(await refused({ prefix: 1.5, rate_cost: 'dear' })).toBreak({
        prefix: ['type'],
        rate_cost: ['type'],
      })
    })

    it('are refused with prices that would have to be rounded, and routes that are no patterns', async () => {
      const data = {
        prefix: 1,
        rate_cost: 0.000000001,
        internal_rate_cost: 1e-9,
        routes: ['ok', '(', '(?=x)'],
      }
      const answer = await world.unchanged(() => world.operator.put(all, data))
      expect(answer).toBreak({
        rate_cost: ['precision'],
        internal_rate_cost: ['precision'],
        'routes.1': ['pattern'],
        'routes.2': ['pattern'],
      })
      expect(answer.data.rate_cost.precision).toEqual({
        message: 'A price has at most 8 decimals',
        target: 8,
      })
    })

    it('revive an id that was deleted; an id in use is refused', async () => {
      const deck = newDeck()
      const id = 'US-1'
      await create({ id, prefix: 1, description: 'first', ratedeck_id: deck })
      const again = { id, prefix: 1, rate_cost: 0.3, ratedeck_id: deck }
      expect(await world.unchanged(() => world.operator.put(all, again))).toFailWith(
        409,
        'datastore_conflict',
      )
      await world.operator.delete(`${all}/${id}`)
      expect(await world.operator.put(all, again)).toSucceedWith(filled(again))
      expect(await world.operator.put(all, { ...again, id: 'ratedecks' })).toBreak({ id: ['pattern'] })
    })

    it('belong to an admin of the system alone', async () => {
      const { id } = await create({ prefix: 1, ratedeck_id: newDeck() })
      for (const person of [world.ross, world.ada, world.uli, world.acmeKey]) {
        for (const attempt of [
          () => person.get(all),
          () => person.put(all, { prefix: 1, rate_cost: 1 }),
          () => person.get(`${all}/ratedecks`),
          () => person.get(`${all}/${id}`),
          () => person.post(`${all}/${id}`, { prefix: 1, rate_cost: 1 }),
          () => person.patch(`${all}/${id}`, { rate_cost: 1 }),
          () => person.delete(`${all}/${id}`),
        ]) {
          expect(await world.unchanged(attempt)).toFailWith(403, 'forbidden')
        }
      }
    })
  })

  describe('in lists', () => {
    it('show what they cost, in the order of their prefixes, page by page', async () => {
      const ratedeck_id = newDeck()
      const made = []
      for (const prefix of [44, 1, 1214])
        made.push(await create({ prefix, ratedeck_id, description: `to ${prefix}` }))
      const rows = made.map(({ id, prefix, description }) => ({
        id,
        prefix,
        cost: 0.1,
        description,
        surcharge: 0,
      }))
      const [uk, us, dallas] = rows
      const query = { ratedeck_id, ascending: true }
      expect(await world.operator.get(all, { query })).toSucceedWith([us, dallas, uk])
      const first = await world.operator.get(all, { query: { ...query, page_size: 2 } })
      expect(first).toSucceedWith([us, dallas])
      const start_key = first.body.next_start_key as string
      expect(await world.operator.get(all, { query: { ...query, start_key } })).toSucceedWith([uk])
    })

    it('come as CSV, too', async () => {
      const ratedeck_id = newDeck()
      const { id } = await create({ prefix: 33, ratedeck_id, description: 'France' })
      const answer = await world.operator.get(all, {
        query: { ratedeck_id },
        headers: { accept: 'text/csv' },
      })
      expect(answer.text).toBe(`id,prefix,cost,description,surcharge\r\n${id},33,0.1,France,0\r\n`)
    })

    it('show whole rates of every leading part of a prefix', async () => {
      const ratedeck_id = newDeck()
      const [one, dallas] = [
        await create({ prefix: 1, ratedeck_id }),
        await create({ prefix: 1214, ratedeck_id }),
      ]
      await create({ prefix: 12146, ratedeck_id })
      await create({ prefix: 2, ratedeck_id })
      expect(await world.operator.get(all, { query: { ratedeck_id, prefix: '+12145' } })).toSucceedWith([
        one,
        dallas,
      ])
      expect(await world.operator.get(all, { query: { ratedeck_id, prefix: 'x' } })).toSucceedWith([])
    })

    it('know the decks that hold rates, and the default one, which can be another', async () => {
      const ratedeck_id = newDeck()
      const { id } = await create({ prefix: 1, ratedeck_id })
      const { data } = await world.operator.get(`${all}/ratedecks`)
      expect(data.default_ratedeck).toBe('ratedeck')
      expect(data.ratedecks).toContain(ratedeck_id)
      expect(data.ratedecks).toEqual(data.ratedecks.toSorted())
      await world.configure('rates', { default_ratedeck: ratedeck_id })
      expect((await world.operator.get(`${all}/ratedecks`)).data.default_ratedeck).toBe(ratedeck_id)
      expect((await priceOf('+12145550100')).data['Rate-ID']).toBe(id)
      await world.configure('rates', { default_ratedeck: 'ratedeck' })
      expect(await world.operator.delete(`${all}/${id}`)).toSucceed()
      expect((await world.operator.get(`${all}/ratedecks`)).data.ratedecks).not.toContain(ratedeck_id)
    })

    it('keep decks apart: a rate is not found in another one, and moves when told so', async () => {
      const [here, there] = [newDeck(), newDeck()]
      const { id } = await create({ prefix: 1, ratedeck_id: here })
      const path = `${all}/${id}`
      expect(await world.operator.get(path, { query: { ratedeck_id: there } })).toFailWith(
        404,
        'bad_identifier',
      )
      expect(
        await world.operator.patch(path, { ratedeck_id: there }, { query: { ratedeck_id: here } }),
      ).toSucceed()
      expect(await world.operator.get(path, { query: { ratedeck_id: there } })).toSucceed()
      expect(await world.operator.get(all, { query: { ratedeck_id: here } })).toSucceedWith([])
    })
  })

  describe('of a number', () => {
    it('are not read from the decks of accounts above', async () => {
      const [wholesale, retail] = [newDeck(), newDeck()]
      const rate = { prefix: 1415, rate_cost: 0.01 }
      await create({ ...rate, ratedeck_id: wholesale })
      await create({ ...rate, ratedeck_id: retail, rate_cost: 0.05 })
      const reseller = await world.account(world.master)
      await world.operator.put(`${reseller.path}/reseller`, {})
      const customer = await world.account(reseller)
      const name = (path: string, id: string) => world.operator.post(`${path}/services`, { ratedeck: { id } })
      expect((await name(reseller.path, wholesale)).status).toBe(200)
      expect((await name(customer.path, retail)).status).toBe(200)
      const [rita, carl] = [await world.admin(reseller), await world.admin(customer)]
      const ask = async (who: Person, deck?: string) =>
        who.get('/v2/rates/number/+14155550100', { query: deck === undefined ? {} : { ratedeck_id: deck } })
      expect(await ask(carl, wholesale)).toFailWith(403, 'forbidden')
      for (const deck of [retail, undefined])
        expect((await ask(carl, deck)).data).toMatchObject({ Rate: '500', 'Ratedeck-ID': retail })
      for (const deck of [wholesale, undefined])
        expect((await ask(rita, deck)).data).toMatchObject({ Rate: '100', 'Ratedeck-ID': wholesale })
      expect((await ask(rita, retail)).data).toMatchObject({ Rate: '500' })
    })

    it('have exactly these keys, in units', async () => {
      const ratedeck_id = newDeck()
      const { id } = await create({
        prefix: 1415,
        rate_cost: 0.00435,
        rate_surcharge: 0.02,
        rate_minimum: 120,
        rate_increment: 6,
        rate_name: 'US_1415',
        description: 'San Francisco',
        ratedeck_id,
      })
      const expected = {
        'Base-Cost': 0.0287,
        'E164-Number': '+14155550100',
        Prefix: '1415',
        Rate: '43.5',
        'Rate-Description': 'San Francisco',
        'Rate-ID': id,
        'Rate-Increment': '6',
        'Rate-Minimum': '120',
        'Rate-Name': 'US_1415',
        'Ratedeck-ID': ratedeck_id,
        Surcharge: '200',
      }
      for (const number of ['+14155550100', '14155550100', '4155550100', '0114155550100'].slice(0, 3)) {
        expect(await priceOf(number, { ratedeck_id })).toSucceedWith(expected)
      }
      for (const person of [world.ada, world.uli, world.acmeKey]) {
        const query = { ratedeck_id }
        expect(await person.get(`${all}/number/4155550100`, { query })).toSucceedWith(expected)
      }
    })

    it('81: take the longest prefix, and the next one when it is gone', async () => {
      const ratedeck_id = newDeck()
      await create({ prefix: 1, weight: 1, ratedeck_id })
      await create({ prefix: 1214, weight: 1, ratedeck_id })
      const longest = await create({ prefix: 12145, weight: 50, ratedeck_id })
      expect((await priceOf('+12145550100', { ratedeck_id })).data.Prefix).toBe('12145')
      await world.operator.delete(`${all}/${longest.id}`)
      expect((await priceOf('+12145550100', { ratedeck_id })).data.Prefix).toBe('1214')
    })

    it('82: of one prefix take the lowest weight; with sort_by_weight off the highest cost', async () => {
      const ratedeck_id = newDeck()
      await create({ prefix: 1, weight: 40, rate_cost: 0.3, ratedeck_id })
      await create({ prefix: 1, weight: 10, rate_cost: 0.2, ratedeck_id })
      await create({ prefix: 1, rate_cost: 0.1, ratedeck_id })
      expect((await priceOf('+12145550100', { ratedeck_id })).data.Rate).toBe('2000')
      await world.configure('rates', { sort_by_weight: false })
      expect((await priceOf('+12145550100', { ratedeck_id })).data.Rate).toBe('3000')
      await world.configure('rates', { sort_by_weight: true })
    })

    it('83: a rate of the other direction is none', async () => {
      const ratedeck_id = newDeck()
      await create({ prefix: 1, direction: ['inbound'], ratedeck_id })
      const failed = await priceOf('+12145550100', { ratedeck_id, direction: 'outbound' })
      expect(failed).toFailWith(404, 'No rate found for this number', noRate)
      expect(await priceOf('+12145550100', { ratedeck_id, direction: 'inbound' })).toSucceed()
      expect(await priceOf('+12145550100', { ratedeck_id })).toSucceed()
      expect(await priceOf('+493055501000', { ratedeck_id })).toFailWith(404, noRate.message, noRate)
    })

    it('ask for the route, the options, the caller and the version, as far as the operator wants', async () => {
      const ratedeck_id = newDeck()
      await create({ prefix: 1, rate_cost: 1, routes: ['^\\+1415'], ratedeck_id })
      await create({ prefix: 12, rate_cost: 2, options: ['premium'], ratedeck_id })
      await create({ prefix: 13, rate_cost: 3, caller_id_numbers: '49:+4420', ratedeck_id })
      await create({ prefix: 14, rate_cost: 4, rate_version: 'old', ratedeck_id })
      const failed = { ratedeck_id, options: 'premium,gold' }
      expect(await priceOf('+14155550100', { ratedeck_id })).toSucceed()
      expect((await priceOf('+14155550100', { ratedeck_id })).data.Rate).toBe('40000')
      expect(await priceOf('+16505550100', { ratedeck_id })).toFailWith(404, noRate.message)
      expect(await priceOf('+12145550100', { ratedeck_id, options: 'premium' })).toSucceed()
      expect(await priceOf('+12145550100', failed)).toFailWith(404, noRate.message)
      for (const caller_id_number of ['+4930123', '442079460000']) {
        expect(await priceOf('+13105550100', { ratedeck_id, caller_id_number })).toSucceed()
      }
      expect(await priceOf('+13105550100', { ratedeck_id, caller_id_number: '+33' })).toFailWith(
        404,
        noRate.message,
      )
      expect(await priceOf('+13105550100', { ratedeck_id })).toFailWith(404, noRate.message)
      await world.configure('rates', { filter_list: ['version'], rate_version: 'new' })
      expect(await priceOf('+14155550100', { ratedeck_id })).toFailWith(404, noRate.message)
      await world.configure('rates', { filter_list: [] })
      expect(await priceOf('+13105550100', { ratedeck_id })).toSucceed()
      await world.configure('rates', {
        filter_list: ['direction', 'route_options', 'routes', 'caller_id_numbers', 'reseller'],
      })
    })

    it("of a reseller's own are for its customers alone", async () => {
      const prefix = 3906
      await create({ prefix: 39, rate_cost: 1 })
      await create({ prefix, rate_cost: 2, account_id: world.reseller.id })
      const path = 'rates/number/+390612345678'
      expect((await world.ada.get(`${world.acme.path}/${path}`)).data.Rate).toBe('20000')
      expect((await world.ada.get(`/v2/${path}`)).data.Rate).toBe('20000')
      expect((await world.ross.get(`${world.reseller.path}/${path}`)).data.Rate).toBe('10000')
      expect((await world.operator.get(`/v2/${path}`)).data.Rate).toBe('10000')
    })

    it('under an account come from the default deck, whatever deck the query names', async () => {
      const ratedeck_id = newDeck()
      await create({ prefix: 34, rate_cost: 5, ratedeck_id })
      await create({ prefix: 34, rate_cost: 6 })
      const path = `${world.acme.path}/rates/number/+34911234567`
      const answer = await world.ada.get(path, { query: { ratedeck_id } })
      expect(answer.data).toMatchObject({ Rate: '60000', 'Ratedeck-ID': 'ratedeck' })
      expect(await world.rex.get(path)).toFailWith(403, 'forbidden')
    })

    it.each(['123', 'abc', '+1415555', '+0123456789', '911', '%2B'])(
      'are refused for %s, which is no number to call',
      async (number) => {
        expect(await world.operator.get(`${all}/number/${number}`)).toFailWith(400, 'validation error', {
          'number format': { error: { message: 'Number is un-rateable' } },
        })
      },
    )

    it('need a token', async () => {
      expect(await world.anonymous.get(`${all}/number/+14155550100`)).toFailWith(401, 'invalid_credentials')
    })
  })
})
