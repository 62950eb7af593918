import { beforeEach, describe, expect, it } from 'vitest'
import type { Json } from '../../src/lib/json.ts'
import { legOf, nowOf, pagesOf, sendLegs } from '../support/world/legs.ts'
import { describeEngines, type Person, type TestAccount, useWorld } from '../support/world/world.ts'

const hour = 3600
const day = 24 * hour
const longest = 31 * day + hour

const ids = (rows: Json[]) => rows.map(({ id }) => id)
const distinct = (values: unknown[]) => new Set(values).size

describeEngines('Call detail records', (engine) => {
  const world = useWorld(engine)
  let account: TestAccount
  let admin: Person
  let cdrs: string
  const now = () => nowOf(world)

  beforeEach(async () => {
    account = await world.account()
    admin = await world.admin(account, { first_name: 'A', last_name: 'B' })
    cdrs = `${account.path}/cdrs`
  })

  const send = (...legs: Json[]) => sendLegs(world, legs)
  const leg = (timestamp: number, more: Json = {}) => legOf(account, timestamp, more)

  const walk = (path: string, query: Record<string, string | number>, by = admin) =>
    pagesOf((more) => by.get(path, { query: { ...query, ...more } }))

  /** Four legs in each of three interactions of this month and of one of the last. */
  const sixteen = (more: Json = {}) => {
    const last = now() - 20 * day
    return [last, now() - 3000, now() - 2000, now() - 1000].flatMap((time, index) =>
      [0, 1, 2, 3].map((second) =>
        leg(time + second, { interaction_time: time - 30, interaction_key: `0000000${index}`, ...more }),
      ),
    )
  }

  describe('that are listed', () => {
    it('are none at first', async () => {
      const answer = await admin.get(cdrs)
      expect(answer).toSucceedWith([])
      expect(answer.headers['content-type']).toBe('application/json')
    })

    it('carry the columns, and the fields of the record that have other names', async () => {
      await send(
        leg(now() - 100, {
          call_id: 'abc@switch',
          duration_seconds: 40,
          billing_seconds: 33,
          ringing_seconds: 7,
          channel_created_time: 1_767_614_260_123_456,
          interaction_time: now() - 140,
          interaction_key: 'deadbeef',
          caller_id_number: '+493012345',
          caller_id_name: 'Müller, "Hans"',
          callee_id_number: '2041',
          hangup_cause: 'NORMAL_CLEARING',
          from: 'hans@acme.test',
          to: '2041@acme.test',
          request: '2041@acme.test',
          local_sdp: 'v=0',
          user_agent: 'phone',
          recording_url: 'https://example.test/1.wav',
          custom_channel_vars: {
            owner_id: 'owner',
            authorizing_id: account.id,
            account_billing: 'per_minute',
            rate: 120,
            rate_name: 'DE',
            rate_increment: 6,
            rate_minimum: 60,
            media_recordings: 'one',
            pvt_cost: 99,
          },
        }),
      )
      const variables = {
        account_id: account.id,
        owner_id: 'owner',
        authorizing_id: account.id,
        account_billing: 'per_minute',
        rate: 120,
        rate_name: 'DE',
        rate_increment: 6,
        rate_minimum: 60,
        media_recordings: 'one',
      }
      expect(await admin.get(cdrs)).toSucceedWith([
        {
          id: '202601-abc@switch',
          call_id: 'abc@switch',
          caller_id_number: '+493012345',
          caller_id_name: 'Müller, "Hans"',
          callee_id_number: '2041',
          callee_id_name: '',
          duration_seconds: 40,
          billing_seconds: 33,
          timestamp: String(now() - 140),
          hangup_cause: 'NORMAL_CLEARING',
          other_leg_call_id: '',
          owner_id: 'owner',
          to: '2041@acme.test',
          from: 'hans@acme.test',
          direction: 'inbound',
          request: '2041@acme.test',
          authorizing_id: '',
          cost: '120',
          dialed_number: '2041',
          calling_from: '+493012345',
          datetime: '2026-01-05 11:57:40',
          unix_timestamp: '1767614260',
          unix_timestamp_micro: '1767614260.123456',
          rfc_1036: 'Mon, 05 Jan 2026 11:57:40 GMT',
          iso_8601: '2026-01-05',
          iso_8601_combined: '2026-01-05T11:57:40Z',
          call_type: 'per_minute',
          rate: '0.012',
          rate_name: 'DE',
          bridge_id: '',
          recording_url: 'https://example.test/1.wav',
          media_recordings: ['one'],
          media_server: '',
          call_priority: '',
          interaction_id: `${now() - 140}-deadbeef`,
          interaction_time: now() - 140,
          interaction_key: 'deadbeef',
          call_direction: 'inbound',
          ringing_seconds: 7,
          channel_created_time: 1_767_614_260_123_456,
          local_sdp: 'v=0',
          user_agent: 'phone',
          custom_channel_vars: variables,
        },
      ])
    })

    it('leave out what is empty when the settings say so', async () => {
      await send(leg(now(), { call_id: 'bare' }))
      await world.configure('crossbar.cdrs', { should_filter_empty_strings: true })
      const [row] = (await admin.get(cdrs)).data
      await world.configure('crossbar.cdrs', { should_filter_empty_strings: false })
      expect(Object.values(row)).not.toContain('')
      expect(row).toMatchObject({ id: '202601-bare', media_recordings: [] })
      expect(row.caller_id_name).toBeUndefined()
    })

    it('are all found once by following the pages, across months', async () => {
      await send(...sixteen())
      const pages = await walk(cdrs, { page_size: 2 })
      expect(pages.map(({ length }) => length)).toEqual(Array(8).fill(2))
      const rows = pages.flat()
      expect(distinct(ids(rows))).toBe(16)
      const times = rows.map(({ timestamp }) => Number(timestamp))
      expect(times).toEqual(times.toSorted((a, b) => b - a))
    })

    it('are all found once by their owner, and none of another', async () => {
      const [owner, other] = [await world.user(account, {}), await world.user(account, {})]
      await send(...sixteen({ custom_channel_vars: { owner_id: owner.id } }))
      expect(distinct(ids((await walk(`${owner.path}/cdrs`, { page_size: 3 })).flat()))).toBe(16)
      expect(await admin.get(`${other.path}/cdrs`)).toSucceedWith([])
      expect(await admin.get(`${account.path}/users/unknown/cdrs`)).toFailWith(404, 'bad_identifier')
    })

    it('are one for each interaction where that is asked for', async () => {
      await send(...sixteen())
      const pages = await walk(`${cdrs}/interaction`, { page_size: 2 })
      expect(pages.map(({ length }) => length)).toEqual([2, 2])
      expect(distinct(pages.flat().map(({ interaction_id }) => interaction_id))).toBe(4)
    })

    it('stand for their interaction when their channel was the first', async () => {
      const one = { interaction_time: now() - 60, interaction_key: 'aaaaaaaa' }
      const micro = 1_767_614_000_000_000
      await send(
        leg(now(), { ...one, call_id: 'later', channel_created_time: micro + 5 }),
        leg(now() - 5, {
          ...one,
          call_id: 'b',
          channel_created_time: micro,
          channel_is_loopback: true,
          channel_loopback_leg: 'B',
        }),
        leg(now() - 4, {
          ...one,
          call_id: 'a',
          channel_created_time: micro,
          channel_is_loopback: true,
          channel_loopback_leg: 'A',
        }),
        leg(now() - 3, { ...one, call_id: 'none', channel_created_time: micro }),
      )
      expect(ids((await admin.get(`${cdrs}/interaction`)).data)).toEqual(['202601-a'])
    })

    it('are one for each interaction of a user, of the legs that are the user’s', async () => {
      const owner = await world.user(account, {})
      const one = { interaction_time: now() - 60, interaction_key: 'aaaaaaaa' }
      const own = { custom_channel_vars: { owner_id: owner.id } }
      await send(
        leg(now() - 20, { ...one, call_id: 'first', channel_created_time: 5 }),
        leg(now() - 10, { ...one, ...own, call_id: 'own', channel_created_time: 6 }),
        leg(now() - 10, { ...one, ...own, call_id: 'own-later', channel_created_time: 7 }),
      )
      expect(ids((await admin.get(`${owner.path}/cdrs/interaction`)).data)).toEqual(['202601-own'])
      expect(ids((await admin.get(`${cdrs}/interaction`)).data)).toEqual(['202601-first'])
    })

    it('may be asked for oldest first', async () => {
      await send(leg(now() - 3), leg(now() - 2), leg(now() - 1))
      const newestFirst = ids((await admin.get(cdrs)).data)
      expect(newestFirst).toHaveLength(3)
      const reversed = newestFirst.toReversed()
      expect(ids((await admin.get(cdrs, { query: { ascending: true } })).data)).toEqual(reversed)
      expect(ids((await admin.get(cdrs, { query: { descending: false } })).data)).toEqual(reversed)
      const both = { ascending: true, descending: true }
      expect(ids((await admin.get(cdrs, { query: both })).data)).toEqual(newestFirst)
    })

    it('tell the local time of the start', async () => {
      await send(leg(now(), { duration_seconds: 0, channel_created_time: 5 }))
      const row = async (query: Json) => (await admin.get(cdrs, { query: query as never })).data[0]
      const plain = await row({})
      expect(plain.datetime).toBe('2026-01-05 12:00:00')
      expect(await row({ utc_offset: 0 })).toEqual(plain)
      expect(await row({ utc_offset: -14_400 })).toEqual({ ...plain, datetime: '2026-01-05 08:00:00' })
      expect(await row({ utc_offset: 14_400 })).toEqual({ ...plain, datetime: '2026-01-05 16:00:00' })
      for (const query of ['utc_offset=abc', 'utc_offset']) {
        const answer = await admin.get(cdrs, { query })
        expect(answer).toFailWith(404, 'utc_offset must be a number')
      }
    })

    it('show what calls cost a reseller to resellers alone', async () => {
      const billed = {
        account_billing: 'flat_rate',
        reseller_billing: 'per_minute',
        rate: 60,
        rate_minimum: 60,
      }
      await send(leg(now(), { billing_seconds: 10, custom_channel_vars: billed }))
      const [customers] = (await admin.get(cdrs)).data
      expect(customers).toMatchObject({ cost: '0', call_type: 'flat_rate' })
      expect(Object.keys(customers)).not.toContain('reseller_cost')
      const [resellers] = (await world.operator.get(cdrs)).data
      expect(resellers).toMatchObject({ reseller_cost: '60', reseller_call_type: 'per_minute' })
      const csv = { headers: { accept: 'text/csv' } }
      expect((await admin.get(cdrs, csv)).text.split('\r\n')[0]).not.toContain('reseller')
      expect((await world.operator.get(cdrs, csv)).text.split('\r\n')[0]).toMatch(
        /,reseller_cost,reseller_call_type$/,
      )
    })

    describe('of a reseller’s customer', () => {
      const costs = {
        base_cost: 31,
        internal_rate_cost: 32,
        rate_cost: 33,
        reseller_rate: 34,
        carrier_cost: 35,
        reseller_billing: 'per_minute',
      }
      const price = {
        rate: 120,
        rate_name: 'wholesale',
        rate_increment: 6,
        surcharge: 7,
        ratedeck_id: 'deck',
      }
      let customer: TestAccount
      let ann: Person
      let path: string

      beforeEach(async () => {
        customer = await world.account(world.reseller)
        ann = await world.admin(customer)
        path = `${customer.path}/cdrs`
      })

      const stored = async (variables: Json) => {
        const mine = legOf(customer, now(), {
          base_cost: 36,
          billing_seconds: 60,
          custom_application_vars: { internal_cost: 37, shown: 'app' },
          custom_channel_vars: { ...costs, shown: 'var', reseller_id: world.reseller.id, ...variables },
        })
        await send(mine)
        return `202601-${mine.call_id}`
      }

      /** Every way to read the one leg there is. */
      const readings = async (who: Person, id: string) => {
        const { interaction_id: interaction } = (await who.get(path)).data[0]
        const csv = { headers: { accept: 'text/csv' } }
        const all = JSON.stringify(
          Object.keys({ ...costs, ...price }).flatMap((key) => [key, `custom_channel_vars.${key}`]),
        )
        const answers = await Promise.all([
          who.get(path),
          who.get(`${path}?paginate=false`),
          who.get(path, { query: { fields: all } }),
          who.get(path, { query: { fields: '["custom_channel_vars"]' } }),
          who.get(path, csv),
          who.get(`${path}?paginate=false&filter_hangup_cause=`, csv),
          who.get(path, { query: { fields: all }, ...csv }),
          who.get(`${path}/interaction`),
          who.get(`${path}/interaction`, csv),
          who.get(`${path}/legs/${interaction}`),
          who.get(`${path}/${id}`),
          who.get(`${path}?full_docs=true`),
        ])
        return answers.map(({ status, text, request }) => ({ status, text: `${request.path} ${text}` }))
      }

      const costly = /base_cost|internal_|rate_cost|reseller_(?!id)|carrier_cost/

      it('hide what it costs those above, however they are read', async () => {
        await world.configure('crossbar', { allow_fetch_full_docs: true })
        const id = await stored({ account_billing: 'per_minute', rate: 120, rate_name: 'retail' })
        for (const { status, text } of await readings(ann, id)) {
          expect([status, status === 200 ? '' : text]).toEqual([200, ''])
          expect(text.slice(text.indexOf(' '))).not.toMatch(costly)
        }
        const [row] = (await ann.get(path)).data
        expect(row).toMatchObject({ cost: '120', rate: '0.012', rate_name: 'retail' })
        expect(row.custom_channel_vars).toMatchObject({
          shown: 'var',
          rate: 120,
          reseller_id: world.reseller.id,
        })
        expect(row.custom_application_vars).toEqual({ shown: 'app' })
        await world.configure('crossbar', { allow_fetch_full_docs: false })
      })

      it('hide the price of minutes that the reseller pays alone', async () => {
        const id = await stored({ account_billing: 'allotment', ...price })
        for (const { text } of await readings(ann, id))
          expect(text.slice(text.indexOf(' '))).not.toMatch(/wholesale|:120\b|0\.012/)
        for (const person of [world.ross, world.operator])
          expect((await person.get(`${path}/${id}`)).data.custom_channel_vars).toMatchObject({
            ...costs,
            ...price,
          })
      })

      it('show it all to the reseller and above', async () => {
        const id = await stored({ account_billing: 'per_minute', rate: 120 })
        for (const person of [world.ross, world.operator]) {
          const [row] = (await person.get(path)).data
          expect(row).toMatchObject({ reseller_cost: '120', reseller_call_type: 'per_minute', base_cost: 36 })
          expect(row.custom_channel_vars).toMatchObject(costs)
          expect((await person.get(`${path}/${id}`)).data.custom_application_vars.internal_cost).toBe(37)
        }
      })

      it('hide it from accounts between the account and its reseller, and from a reseller for its own calls', async () => {
        const below = await world.account(customer)
        await send(legOf(below, now(), { billing_seconds: 5, custom_channel_vars: costs }))
        expect((await ann.get(`${below.path}/cdrs`)).text).not.toMatch(costly)
        await send(legOf(world.reseller, now(), { billing_seconds: 5, custom_channel_vars: costs }))
        expect((await world.ross.get(`${world.reseller.path}/cdrs`)).text).not.toMatch(costly)
        expect((await world.operator.get(`${world.reseller.path}/cdrs`)).text).toMatch(costly)
      })

      it('tell nothing to filters either', async () => {
        await stored({ account_billing: 'allotment', ...price })
        const countFor = async (who: Person, query: string) => (await who.get(`${path}?${query}`)).data.length
        const vars = 'custom_channel_vars'
        const guesses = [
          `filter_${vars}.base_cost=31`,
          `filter_${vars}.reseller_billing=per_minute`,
          `filter_${vars}.rate=120`,
          `filter_${vars}.rate_name=wholesale`,
          `has_key=${vars}.reseller_billing`,
          `has_value=${vars}.internal_rate_cost`,
          `filter_base_cost=36`,
        ]
        for (const guess of guesses) {
          expect([guess, await countFor(ann, guess)]).toEqual([guess, 0])
          expect([guess, await countFor(world.ross, guess)]).toEqual([guess, 1])
        }
        for (const absence of [`key_missing=${vars}.reseller_billing`, `filter_not_${vars}.rate=120`])
          expect([absence, await countFor(ann, absence)]).toEqual([absence, 1])
        const csv = await ann.get(`${path}?paginate=false&filter_${vars}.reseller_billing=per_minute`, {
          headers: { accept: 'text/csv' },
        })
        expect(csv.text).not.toContain('leg-')
      })
    })

    it('name the dialled and the calling number by direction', async () => {
      const common = { request: 'req@a', to: 'to@b', from_uri: 'uri@c', caller_id_number: 'caller' }
      await send(leg(now() - 1, common), leg(now(), { ...common, call_direction: 'outbound' }))
      const [outbound, inbound] = (await admin.get(cdrs)).data
      expect(inbound).toMatchObject({ dialed_number: 'req', calling_from: 'caller' })
      expect(outbound).toMatchObject({ dialed_number: 'to', calling_from: 'uri' })
    })

    it('cost what the rate says', async () => {
      const terms = {
        account_billing: 'per_minute',
        rate: 120,
        rate_increment: 6,
        rate_minimum: 60,
        surcharge: 0,
      }
      const cases: [seconds: number, more: Json, cost: string][] = [
        [61, {}, '132'],
        [60, {}, '120'],
        [0, {}, '0'],
        [4, { rate_nocharge_time: 5 }, '0'],
        [61, { account_billing: 'flat_rate' }, '0'],
      ]
      await send(
        ...cases.map(([billing_seconds, more], index) =>
          leg(now() - index, { billing_seconds, custom_channel_vars: { ...terms, ...more } }),
        ),
      )
      const costs = (await admin.get(cdrs)).data.map(({ cost }: Json) => cost)
      expect(costs).toEqual(cases.map(([, , cost]) => cost))
    })
  })

  describe('of a range', () => {
    it('has its bounds in the right order and not too far apart', async () => {
      const to = now()
      const from = (created_from: number, created_to = to) =>
        admin.get(cdrs, { query: { created_from, created_to } })
      const reversed = await from(to + 1)
      expect(reversed).toBreak({ created_from: ['date_range'] })
      expect(reversed.data.created_from.date_range).toEqual({
        message: `created_from ${to + 1} is later than created_to ${to}`,
        cause: to + 1,
      })
      const wide = await from(to - longest - 1)
      expect(wide).toBreak({ created_from: ['date_range'] })
      expect(wide.data.created_from.date_range).toMatchObject({ cause: to })
      expect(await from(to - longest)).toSucceedWith([])
    })

    it('may be wider, or must be narrower, when the settings say so', async () => {
      const query = { created_from: now() - 40 * day }
      await world.configure('crossbar.cdrs', { maximum_range: 50 * day })
      expect(await admin.get(cdrs, { query })).toSucceedWith([])
      await world.configure('crossbar.cdrs', { maximum_range: 10 * day })
      const answer = await admin.get(cdrs, { query: { created_from: now() - 11 * day } })
      await world.configure('crossbar.cdrs', { maximum_range: longest })
      expect(answer).toBreak({ created_from: ['date_range'] })
    })

    it('ends at created_to and has the longest allowed length when only that is given', async () => {
      const to = now() - 40 * day
      await send(leg(to), leg(to + 1), leg(to - longest), leg(to - longest - 1))
      const rows = (await admin.get(cdrs, { query: { created_to: to } })).data
      expect(rows.map(({ timestamp }: Json) => Number(timestamp) + 30)).toEqual([to, to - longest])
      expect(await admin.get(cdrs, { query: { created_from: to } })).toBreak({ created_from: ['date_range'] })
    })

    it('has no silent bounds: a fraction is rounded, and what is no time is refused', async () => {
      const end = now()
      await send(leg(end - 10), leg(end))
      const timestamps = async (query: Json) =>
        (await admin.get(cdrs, { query: query as Record<string, string> })).data.map(
          ({ timestamp }: Json) => Number(timestamp) + 30,
        )
      expect(await timestamps({ created_from: '' })).toEqual([end, end - 10])
      expect(await timestamps({ created_from: `${end - 1}.499` })).toEqual([end])
      expect(await timestamps({ created_to: `${end - 1}.499` })).toEqual([end - 10])
      expect(await timestamps({ created_to: `${end - 1}.999` })).toEqual([end, end - 10])
      for (const created_from of ['foo', '-5'])
        expect(await admin.get(cdrs, { query: { created_from } })).toBreak({ created_from: ['type'] })
      const first = await admin.get(cdrs, { query: { created_from: 0 } })
      expect(first).toBreak({ created_from: ['date_range'] })
    })

    it('holds legs that ended after the month of their interaction', async () => {
      // 2026-01-01T00:00:00Z
      const edge = now() - 4 * day - 12 * hour
      await send(
        leg(edge - 10, { duration_seconds: 0, call_id: 'before' }),
        leg(edge + 10, { duration_seconds: 60, call_id: 'across' }),
        leg(edge + 20, { duration_seconds: 0, call_id: 'after' }),
      )
      const all = ['202601-after', '202512-across', '202512-before']
      expect(ids((await admin.get(cdrs)).data)).toEqual(all)
      const query = { created_from: edge, page_size: 1 }
      expect(ids((await walk(cdrs, query)).flat())).toEqual(all.slice(0, 2))
      expect(ids((await walk(cdrs, { ...query, ascending: 'true' })).flat())).toEqual(
        all.slice(0, 2).reverse(),
      )
    })
  })

  describe('in pages', () => {
    it('are as many as asked for, each record once', async () => {
      await send(...Array.from({ length: 500 }, (_, index) => leg(now() - (index % 7))))
      const pages = await walk(cdrs, { page_size: 135 })
      expect(pages.map(({ length }) => length)).toEqual([135, 135, 135, 95])
      expect(distinct(ids(pages.flat()))).toBe(500)
      const answer = await admin.get(cdrs, { query: { page_size: 135 } })
      expect(answer.body.page_size).toBe(135)
    })

    it('have a size of at least one', async () => {
      expect(await admin.get(cdrs, { query: { page_size: 0 } })).toFailWith(404, 'faulty_request')
      expect(await admin.get(cdrs, { query: { page_size: 'x' } })).toFailWith(404, 'faulty_request')
    })

    it('begin at the beginning when the key cannot be read', async () => {
      await send(leg(now() - 1), leg(now()))
      const first = (await admin.get(cdrs)).data
      const odd = Buffer.from(JSON.stringify(['tomorrow', 'x'])).toString('base64url')
      for (const start_key of ['%%%', odd])
        expect((await admin.get(cdrs, { query: { start_key } })).data).toEqual(first)
    })

    it('stay within the range whatever the key says', async () => {
      await send(leg(now() - 50), leg(now() - 10))
      const key = (time: number) =>
        Buffer.from(JSON.stringify([String(time).padStart(15, '0'), 'x'])).toString('base64url')
      const query = { created_from: now() - 20, created_to: now() }
      const rows = async (time: number) =>
        (await admin.get(cdrs, { query: { ...query, start_key: key(time) } })).data.length
      expect(await rows(now() + 1000)).toBe(1)
      expect(await rows(now() - 5)).toBe(1)
      expect(await rows(now() - 15)).toBe(0)
      expect(await rows(now() - 1000)).toBe(0)
    })
  })

  describe('without pages', () => {
    it('come all in one answer, streamed or not', async () => {
      await send(...Array.from({ length: 1350 }, (_, index) => leg(now() - index)))
      await send(...Array.from({ length: 1350 }, (_, index) => leg(now() - 20 * day - index)))
      for (const is_chunked of ['true', 'false']) {
        const answer = await admin.get(cdrs, { query: { paginate: 'false', is_chunked } })
        expect(answer).toSucceed()
        expect(distinct(ids(answer.data))).toBe(2700)
        expect(Object.keys(answer.body)).not.toEqual(
          expect.arrayContaining([expect.stringMatching(/page_size|start_key/)]),
        )
      }
    })

    it('are guarded by the memory limit unless they are streamed', async () => {
      await send(...Array.from({ length: 100 }, (_, index) => leg(now() - index)))
      await world.configure('crossbar', { request_memory_limit: 50_000 })
      const whole = { paginate: 'false', is_chunked: 'false' }
      const refused = await admin.get(cdrs, { query: whole })
      const streamed = await admin.get(cdrs, { query: { paginate: 'false' } })
      await world.configure('crossbar', { request_memory_limit: 100_000_000 })
      expect(refused).toFailWith(416, 'range not satisfiable')
      expect(streamed.data).toHaveLength(100)
    })
  })

  it('are listed with their session descriptions, which CSV files do without', async () => {
    const account = await world.account()
    const sessions = { local_sdp: 'v=0\r\ns=-\r\n', remote_sdp: 'v=0\r\ns=x\r\n' }
    const custom_channel_vars = { account_id: account.id }
    await send(leg(now(), { call_id: 'described', ...sessions, custom_channel_vars }))
    const list = `${account.path}/cdrs`
    for (const path of [list, `${list}/interaction`, `${list}?fields=["local_sdp","remote_sdp"]`])
      expect((await world.operator.get(path)).data).toMatchObject([sessions])
    const { text } = await world.operator.get(list, { headers: { accept: 'text/csv' } })
    expect(text).not.toContain('sdp')
    expect(text).not.toContain('v=0')
  })

  describe('one by one', () => {
    it('are the whole record without what is private', async () => {
      await send(
        leg(now(), {
          call_id: 'secretive',
          local_sdp: 'v=0',
          custom_channel_vars: { pvt_cost: 5, _x: 1, username: 'u' },
          interaction_key: '0badcafe',
        }),
      )
      const document = {
        id: '202601-secretive',
        call_id: 'secretive',
        timestamp: now(),
        duration_seconds: 30,
        call_direction: 'inbound',
        interaction_id: `${now() - 30}-0badcafe`,
        interaction_time: now() - 30,
        interaction_key: '0badcafe',
        local_sdp: 'v=0',
        custom_channel_vars: { account_id: account.id, username: 'u' },
      }
      expect(await admin.get(`${cdrs}/202601-secretive`)).toSucceedWith(document)
      expect(await admin.get(`${cdrs}/legs/202601-secretive`)).toSucceedWith([document])
    })

    it('are found by every id that a list gives', async () => {
      await send(...sixteen())
      for (const { id } of (await admin.get(cdrs)).data)
        expect((await admin.get(`${cdrs}/${id}`)).data.id).toBe(id)
    })

    it('are found among the legs of their interaction', async () => {
      await send(...sixteen())
      const [row] = (await admin.get(cdrs)).data
      const byLeg = await admin.get(`${cdrs}/legs/${row.id}`)
      const byInteraction = await admin.get(`${cdrs}/legs/${row.interaction_id}`)
      expect(byLeg.data).toEqual(byInteraction.data)
      expect(ids(byLeg.data)).toContain(row.id)
      expect(byLeg.data).toHaveLength(4)
      const times = byLeg.data.map(({ timestamp }: Json) => timestamp)
      expect(times).toEqual(times.toSorted((a: number, b: number) => b - a))
      const oldestFirst = await admin.get(`${cdrs}/legs/${row.id}`, { query: { ascending: true } })
      expect(oldestFirst.data).toEqual(byLeg.data.toReversed())
    })

    it('are missing in a way that can be read', async () => {
      expect(await admin.get(`${cdrs}/not-an-id`)).toFailWith(404, 'could not find cdr with supplied id')
      expect(await admin.get(`${cdrs}/202602-nope`)).toFailWith(404, 'bad_identifier', {
        message: 'bad identifier',
        cause: '202602-nope',
      })
      expect(await admin.get(`${cdrs}/legs/202602-nope`)).toFailWith(
        404,
        'could not find legs for supplied id',
      )
      expect(await admin.get(`${cdrs}/legs/xyz`)).toFailWith(404, 'bad_identifier')
      expect(await admin.get(`${cdrs}/legs/63900000000-deadbeef`)).toSucceedWith([])
    })

    it('belong to their account', async () => {
      await send(leg(now(), { call_id: 'mine' }))
      const foreign = `/v2/accounts/${world.acme.id}/cdrs`
      expect(await world.ada.get(`${foreign}/202601-mine`)).toFailWith(404, 'bad_identifier')
      expect(await world.ada.get(`${cdrs}/202601-mine`)).toFailWith(403, 'forbidden')
      expect((await world.operator.get(`${cdrs}/202601-mine`)).data.id).toBe('202601-mine')
    })
  })

  it('are never written through these paths', async () => {
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE'])
      for (const path of [cdrs, `${cdrs}/interaction`, `${cdrs}/202601-x`])
        expect(await admin.request(method, path, method === 'DELETE' ? undefined : {})).toFailWith(
          405,
          'invalid_method',
        )
  })

  it('are not listed by device', async () => {
    expect(await admin.get(`${account.path}/devices/some/cdrs`)).toFailWith(404, 'faulty_request')
  })

  it('are summed up by direction, domain and class of number', async () => {
    const outbound = (to: string, billing_seconds: number, more: Json = {}) =>
      leg(now() - billing_seconds, {
        call_direction: 'outbound',
        to,
        billing_seconds,
        ...more,
        custom_channel_vars: { resource_id: 'r', ...(more.custom_channel_vars as Json | undefined) },
      })
    await send(
      leg(now(), { from: 'x@peer.test', to: '+14155550100@acme.test', billing_seconds: 10 }),
      leg(now() - 20 * day, { from: 'y@peer.test', to: '+14155550100@acme.test', billing_seconds: 5 }),
      leg(now(), {
        from: 'x@peer.test',
        billing_seconds: 3,
        custom_channel_vars: { authorizing_id: 'device' },
      }),
      outbound('+18005550100@carrier.test', 7, { custom_channel_vars: { rate_name: 'US' } }),
      outbound('+493012345@carrier.test', 8, { custom_channel_vars: { rate_name: 'DE' } }),
      outbound('+12425550100@carrier.test', 9),
      outbound('911@carrier.test', 1),
      outbound('hans@carrier.test', 2),
      outbound('911@carrier.test', 50, { channel_is_loopback: true }),
      leg(now(), { call_direction: 'outbound', to: '911@acme.test', billing_seconds: 60 }),
    )
    expect(await admin.get(`${cdrs}/summary`)).toSucceedWith({
      inbound: { 'peer.test': { did_us: { total: 15 } } },
      outbound: {
        'carrier.test': {
          tollfree_us: { total: 7, US: 7 },
          international: { total: 8, DE: 8 },
          caribbean: { total: 9 },
          emergency: { total: 1 },
          unknown: { total: 2 },
        },
      },
    })
    expect(await admin.get(`${cdrs}/summary`, { query: { created_from: 1 } })).toBreak({
      created_from: ['date_range'],
    })
  })
})
