import { beforeEach, expect, it } from 'vitest'
import type { Json } from '../../src/lib/json.ts'
import { legOf, nowOf, sendLegs } from '../support/world/legs.ts'
import { describeEngines, type Person, type TestAccount, useWorld } from '../support/world/world.ts'

const hour = 3600
const day = 24 * hour
// 2025-11-01T00:00:00Z
const november = 63_929_174_400

describeEngines('Call statistics', (engine) => {
  const world = useWorld(engine)
  let account: TestAccount
  let admin: Person
  let stats: string

  beforeEach(async () => {
    account = await world.account()
    admin = await world.admin(account)
    stats = `${account.path}/cdrs/stats`
  })

  const send = (...legs: Json[]) => sendLegs(world, legs)
  const leg = (timestamp: number, more: Json = {}) => legOf(account, timestamp, more)
  const ask = (query: Record<string, string | number>, path = stats) => admin.get(path, { query })
  const range = { created_from: november, created_to: november + day - 1 }

  const billed = { account_billing: 'per_minute', rate: 60, rate_minimum: 1, rate_increment: 1 }

  it('count and sum up calls by hour', async () => {
    await send(
      leg(november, { duration_seconds: 50, billing_seconds: 40, custom_channel_vars: billed }),
      leg(november + hour - 1, { duration_seconds: 31, billing_seconds: 20, custom_channel_vars: billed }),
      leg(november + hour - 1, { duration_seconds: 10, billing_seconds: 0 }),
      leg(november + 5 * hour, { duration_seconds: 5 }),
      leg(november - 1),
      leg(november + day),
    )
    expect(await ask({ ...range, interval: 'hour' })).toSucceedWith([
      {
        start: november,
        calls: 3,
        answered: 2,
        answer_seizure_ratio: 0.6667,
        average_call_duration: 30,
        duration_seconds: 91,
        billing_seconds: 60,
        cost: 60,
      },
      {
        start: november + 5 * hour,
        calls: 1,
        answered: 0,
        answer_seizure_ratio: 0,
        average_call_duration: 0,
        duration_seconds: 5,
        billing_seconds: 0,
        cost: 0,
      },
    ])
  })

  it('have their days and months by local time', async () => {
    const times = [
      november - 6 * hour,
      november - 5 * hour,
      november,
      november + 14 * day,
      november + 19.5 * hour,
    ]
    await send(...times.map((time) => leg(time)))
    const starts = async (query: Record<string, string | number>) =>
      (await ask({ created_from: november - 10 * day, created_to: november + 30 * day, ...query })).data.map(
        ({ start, calls }: Json) => [(start as number) - november, calls],
      )
    expect(await starts({ interval: 'month' })).toEqual([
      [-31 * day, 2],
      [0, 3],
    ])
    // New York.
    expect(await starts({ interval: 'month', utc_offset: -5 * hour })).toEqual([
      [-31 * day + 5 * hour, 3],
      [5 * hour, 2],
    ])
    // Nepal.
    const nepal = 5.75 * hour
    expect(await starts({ interval: 'day', utc_offset: nepal })).toEqual([
      [-day - nepal, 1],
      [-nepal, 2],
      [day - nepal, 1],
      [14 * day - nepal, 1],
    ])
    expect(await starts({ interval: 'day' })).toEqual([
      [-day, 2],
      [0, 2],
      [14 * day, 1],
    ])
    expect(await starts({})).toEqual(await starts({ interval: 'day' }))
  })

  it('are grouped by what calls have in common', async () => {
    const of = (owner_id: string | undefined, more: Json = {}) =>
      leg(november + 10, { ...more, custom_channel_vars: owner_id === undefined ? {} : { owner_id } })
    await send(
      of('u1', { hangup_cause: 'NORMAL_CLEARING' }),
      of('u1', { hangup_cause: 'USER_BUSY', call_direction: 'outbound' }),
      of('u2'),
      of(undefined),
    )
    const groups = async (group_by: string) =>
      (await ask({ ...range, interval: 'day', group_by })).data.map(({ group, calls }: Json) => [
        group,
        calls,
      ])
    expect(await groups('owner_id')).toEqual([
      ['', 1],
      ['u1', 2],
      ['u2', 1],
    ])
    expect(await groups('call_direction')).toEqual([
      ['inbound', 3],
      ['outbound', 1],
    ])
    expect(await groups('hangup_cause')).toEqual([
      ['', 2],
      ['NORMAL_CLEARING', 1],
      ['USER_BUSY', 1],
    ])
    expect(await groups('authorizing_id')).toEqual([['', 4]])
  })

  it('of a user are of that user alone, grouped or not', async () => {
    const user = await world.user(account)
    const own = { custom_channel_vars: { owner_id: user.id, authorizing_id: 'phone' } }
    await send(
      leg(november + 10, { ...own, billing_seconds: 7 }),
      leg(november + 40 * day, { ...own, call_direction: 'outbound' }),
      leg(november + 10),
    )
    const wide = { created_from: november, created_to: november + 60 * day, interval: 'month' }
    const rows = async (more: Json) =>
      (await ask({ ...wide, ...(more as Record<string, string>) }, `${user.path}/cdrs/stats`)).data.map(
        ({ start, group, calls, billing_seconds }: Json) => [
          (start as number) - november,
          group,
          calls,
          billing_seconds,
        ],
      )
    expect(await rows({})).toEqual([
      [0, undefined, 1, 7],
      [30 * day, undefined, 1, 0],
    ])
    expect(await rows({ group_by: 'owner_id' })).toEqual([
      [0, user.id, 1, 7],
      [30 * day, user.id, 1, 0],
    ])
    expect(await rows({ group_by: 'call_direction' })).toEqual([
      [0, 'inbound', 1, 7],
      [30 * day, 'outbound', 1, 0],
    ])
    expect(await rows({ group_by: 'authorizing_id', interval: 'hour' })).toEqual([
      [0, 'phone', 1, 7],
      [40 * day, 'phone', 1, 0],
    ])
  })

  it('count a record that is sent twice once', async () => {
    const twice = leg(november + 10)
    await send(twice)
    await world.operator.put('/v2/cdrs', [twice, twice])
    expect((await ask({ ...range })).data).toMatchObject([{ calls: 1 }])
  })

  it('may span a year and more', async () => {
    await send(leg(november - 200 * day), leg(november))
    const query = { created_from: november - 366 * day, created_to: november + day, interval: 'hour' }
    expect((await ask(query)).data).toHaveLength(2)
    expect(await ask({ ...query, created_from: november - 500 * day })).toBreak({
      created_from: ['date_range'],
    })
    expect((await ask({ created_from: november - 9000 * day })).data).toHaveLength(2)
  })

  it('are of the last month when no range is given', async () => {
    await send(leg(nowOf(world) - 30 * day), leg(nowOf(world) - 40 * day))
    expect((await ask({})).data).toMatchObject([{ calls: 1 }])
  })

  it('are none without calls, and refuse what they do not know', async () => {
    expect(await ask({})).toSucceedWith([])
    expect(await ask({ interval: 'week' })).toBreak({ interval: ['enum'] })
    expect(await ask({ group_by: 'to' })).toBreak({ group_by: ['enum'] })
    expect(await ask({ utc_offset: 100 })).toBreak({ utc_offset: ['multipleOf'] })
    expect(await ask({ utc_offset: 'x' })).toFailWith(404, 'utc_offset must be a number')
    expect(await ask({ created_from: 9, created_to: 8 })).toBreak({ created_from: ['date_range'] })
    expect(await ask({}, `${account.path}/users/unknown/cdrs/stats`)).toFailWith(404, 'bad_identifier')
  })
})
