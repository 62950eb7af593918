// The feed of an account: in pages, and as a stream that is followed.
import { afterEach, expect, it } from 'vitest'
import type { Json } from '../../src/lib/json.ts'
import { eventually } from '../support/run/eventually.ts'
import { type EventStream, openEventStream } from '../support/servers/event-stream.ts'
import { describeAnyEngine, type Person, useWorld } from '../support/world/world.ts'

interface Told {
  sequence: string
  type: string
  account_id: string
  actor: Json
  record: { kind: string; id: string }
  after?: Json
  before?: Json
}

describeAnyEngine('the feed', (engine) => {
  const world = useWorld(engine)
  const open: EventStream[] = []
  afterEach(() => {
    for (const stream of open.splice(0)) stream.close()
  })

  const follow = async (person: Person, path: string, headers: Record<string, string> = {}) => {
    const stream = await openEventStream(world.server.port, path, {
      'x-auth-token': person.token,
      ...headers,
    })
    open.push(stream)
    return stream
  }

  /** Streams that the server has not ended. */
  const openStreams = async () => {
    const { text } = await world.anonymous.get('/metrics')
    return Number(/^crosspoint_event_streams_open (\d+)$/m.exec(text)?.[1])
  }

  const eventsOf = async (person: Person, path: string, query = '') => {
    const { data, next_start_key: next } = (await person.get(`${path}/events?${query}`)).body
    return { events: data as Told[], next: next as string | undefined }
  }

  /** All events of an account, when the last change of a record is among them. */
  const settled = (person: Person, path: string, recordId: string, query = '') =>
    eventually(
      async () => (await eventsOf(person, path, query)).events,
      (events) => events.some(({ record }) => record.id === recordId),
    )

  const addUser = async (path: string, name: string) => {
    const { data } = (await world.operator.put(`${path}/users`, { first_name: name, last_name: 'X' })).body
    return data.id as string
  }

  const acmeOf = async () => {
    const account = await world.account()
    await settled(world.operator, account.path, account.id)
    return account
  }

  it('lists each change of an account, oldest first, with its author and the record after the change', async () => {
    const account = await acmeOf()
    const id = await addUser(account.path, 'Ann')
    await world.operator.patch(`${account.path}/users/${id}`, { first_name: 'Anna' })
    await world.operator.delete(`${account.path}/users/${id}`)
    const events = await eventually(
      async () => (await eventsOf(world.operator, account.path, `record_id=${id}&with_before=true`)).events,
      ({ length }) => length === 3,
    )
    expect(events.map(({ type }) => type)).toEqual(['user.created', 'user.edited', 'user.deleted'])
    const [created, edited, deleted] = events as [Told, Told, Told]
    expect(created).toEqual({
      sequence: expect.stringMatching(/^\d{16}$/),
      type: 'user.created',
      account_id: account.id,
      at: expect.any(Number),
      actor: { type: 'user', id: world.operator.id, account_id: world.operator.account.id },
      request_id: expect.any(String),
      record: { kind: 'user', id },
      after: expect.objectContaining({ id, first_name: 'Ann' }),
    })
    expect(edited.before).toEqual(created.after)
    expect(edited.after).toEqual({ ...created.after, first_name: 'Anna' })
    expect([deleted.before, deleted.after]).toEqual([edited.after, undefined])
    expect(events.map(({ sequence }) => sequence)).toEqual(events.map(({ sequence }) => sequence).sort())
  })

  it('shows no secrets', async () => {
    const account = await acmeOf()
    const id = await addUser(account.path, 'Ann')
    await world.operator.patch(`${account.path}/users/${id}`, { password: 'a-new-password', pin: '47-11' })
    const text = JSON.stringify(await settled(world.operator, account.path, id, 'with_before=true'))
    // No digits alone: ids are full of them.
    expect(text).not.toMatch(/a-new-password|47-11/)
  })

  it('is read in pages that neither skip nor repeat, from any sequence', async () => {
    const account = await acmeOf()
    const ids: string[] = []
    for (const name of ['a', 'b', 'c', 'd', 'e', 'f', 'g']) ids.push(await addUser(account.path, name))
    await settled(world.operator, account.path, ids.at(-1) ?? '')
    const whole = (await eventsOf(world.operator, account.path, 'type=user.created')).events
    expect(whole.map(({ record }) => record.id)).toEqual(ids)
    const paged: Told[] = []
    let key: string | undefined = ''
    while (key !== undefined) {
      const { events, next } = await eventsOf(
        world.operator,
        account.path,
        `type=user.created&page_size=2&start_key=${key}`,
      )
      paged.push(...events)
      key = next
    }
    expect(paged).toEqual(whole)
    const behind = await eventsOf(world.operator, account.path, `type=user.*&after=${whole[2]?.sequence}`)
    expect(behind.events).toEqual(whole.slice(3))
    expect((await eventsOf(world.operator, account.path, 'after=now')).events).toEqual([])
  })

  it('is read in smaller pages where records are large', async () => {
    const account = await acmeOf()
    const id = await addUser(account.path, 'Large')
    for (let turn = 1; turn <= 12; turn += 1) {
      const note = `${turn}`.padEnd(900_000, '.')
      expect(await world.operator.patch(`${account.path}/users/${id}`, { note })).toSucceed()
    }
    const pages: number[][] = []
    for (let key: string | undefined = ''; key !== undefined; ) {
      const query = `type=user.edited&with_before=true&start_key=${key}`
      const { events, next }: { events: Told[]; next: string | undefined } = await eventsOf(
        world.operator,
        account.path,
        query,
      )
      pages.push(events.map(({ after }) => Number.parseInt(after?.note as string, 10)))
      key = next
    }
    expect(pages.flat()).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12])
    // Each event contains two records.
    expect(pages.map(({ length }) => length)).toEqual([3, 3, 3, 3])
    // The amount that the server reads from the store at once is bounded.
    const question = {
      accountId: account.id,
      below: false,
      limit: 50,
      types: ['user.edited'],
      withBefore: true,
    }
    const first = await world.server.feed.page({ ...question, after: 0 })
    expect(first.events.length).toBeLessThan(12)
    expect(first.next).toBe(first.events.at(-1)?.sequence)
  })

  it('is narrowed by type, record and actor, and refuses what is none of these', async () => {
    const account = await acmeOf()
    const id = await addUser(account.path, 'Ann')
    const device = await world.device(account)
    await settled(world.operator, account.path, device.id)
    const typesOf = async (query: string) =>
      (await eventsOf(world.operator, account.path, query)).events.map(({ type }) => type)
    expect(await typesOf('type=device.*')).toEqual(['device.created'])
    expect(await typesOf('type=device.created,user.created')).toEqual(['user.created', 'device.created'])
    expect(await typesOf(`record_id=${id}`)).toEqual(['user.created'])
    expect(await typesOf(`actor_id=${world.operator.id}&type=user.*`)).toEqual(['user.created'])
    expect(await typesOf('actor_id=nobody')).toEqual([])
    expect(await typesOf('created_to=1')).toEqual([])
    for (const [query, field] of [
      ...['nonsense', 'zzz.*', 'zzz.created', 'user.changed', 'user.', 'invoice.late', 'user.*.*', '*'].map(
        (type) => [`type=user.created,${type}`, 'type'] as const,
      ),
      ['with_before=maybe', 'with_before'],
      ['include_subaccounts=1', 'include_subaccounts'],
      ['start_key=zz', 'start_key'],
      [`start_key=${Buffer.from('["zz",""]').toString('base64url')}`, 'start_key'],
      ['after=yesterday', 'after'],
      ['created_from=soon', 'created_from'],
    ] as const) {
      const answer = await world.operator.get(`${account.path}/events?${query}`)
      expect(answer.status).toBe(400)
      expect(answer.body.data).toHaveProperty(field)
    }
  })

  it('lists changes below an account only on request, and never those above or next to it', async () => {
    const { reseller, acme, rival } = world
    const id = await addUser(acme.path, 'Below')
    await settled(world.operator, acme.path, id)
    const below = await settled(world.ross, reseller.path, id, 'include_subaccounts=true&type=user.created')
    expect(below.map(({ account_id }) => account_id)).toContain(acme.id)
    const own = (await eventsOf(world.ross, reseller.path, 'type=user.created')).events
    expect(own.every(({ account_id }) => account_id === reseller.id)).toBe(true)
    const all = await settled(
      world.operator,
      world.operator.account.path,
      id,
      'include_subaccounts=true&type=user.created&page_size=1000',
    )
    expect(all.map(({ account_id }) => account_id)).toEqual(
      expect.arrayContaining([acme.id, rival.id, reseller.id]),
    )
    expect((await world.ada.get(`${reseller.path}/events`)).status).toBe(403)
    expect((await world.ada.get(`${rival.path}/events`)).status).toBe(403)
    expect((await world.uli.get(`${acme.path}/events`)).status).toBe(403)
  })

  it('is streamed from where the client was, each event once, and then as it happens', async () => {
    const account = await acmeOf()
    const first = await addUser(account.path, 'First')
    const second = await addUser(account.path, 'Second')
    const before = await settled(world.operator, account.path, second, 'type=user.*')
    const path = `${account.path}/events?type=user.*`
    const stream = await follow(world.operator, path)
    expect(stream.response.headers['content-type']).toBe('text/event-stream')
    await stream.come(2)
    const third = await addUser(account.path, 'Third')
    await stream.come(3)
    const told = stream.messages.map(({ data }) => JSON.parse(data) as Told)
    expect(told.map(({ record }) => record.id)).toEqual([first, second, third])
    expect(told.slice(0, 2)).toEqual(before)
    expect(stream.messages.map(({ id, event }) => [id, event])).toEqual(
      told.map(({ sequence, type }) => [sequence, type]),
    )
    const resumed = await follow(world.operator, path, { 'last-event-id': told[1]?.sequence ?? '' })
    await resumed.come(1)
    expect(resumed.messages.map(({ data }) => JSON.parse(data))).toEqual(told.slice(2))
    const fromNow = await follow(world.operator, `${path}&after=now`)
    const fourth = await addUser(account.path, 'Fourth')
    await fromNow.come(1)
    expect(fromNow.messages.map(({ data }) => (JSON.parse(data) as Told).record.id)).toEqual([fourth])
  })

  it('ends a stream within seconds when its token does', async () => {
    const account = await world.account()
    const person = await world.admin(account)
    const stream = await follow(person, `${account.path}/events?after=now`)
    await world.operator.patch(person.path, { enabled: false })
    await stream.ended
  })

  it('cuts off a reader that does not keep up, with the place to come back to', async () => {
    const account = await acmeOf()
    const id = await addUser(account.path, 'Slow')
    await settled(world.operator, account.path, id)
    const path = `${account.path}/events?type=user.edited`
    const stream = await follow(world.operator, path)
    await eventually(openStreams, (count) => count === 1)
    stream.pause()
    const edit = (turn: number) =>
      world.operator.patch(`${account.path}/users/${id}`, { note: `${turn}`.padEnd(60_000, '.') })
    // The reader resumes as soon as it is disconnected: the server closes a connection that does not read the rest within some
    // seconds.
    const ended = eventually(openStreams, (count) => count === 0).then(() => {
      stream.resume()
      return stream.ended
    })
    // More events than the system buffers for a client that does not read.
    for (let turn = 1; turn <= 150; turn += 1) expect(await edit(turn)).toSucceed()
    await ended
    const last = stream.messages.at(-1)
    expect(last?.event).toBe('lagging')
    const told = stream.messages.slice(0, -1)
    expect(told.length).toBeGreaterThan(0)
    expect(told.length).toBeLessThan(150)
    expect(JSON.parse(last?.data ?? '')).toEqual({ after: told.at(-1)?.id })
    // Events with a sequence number arrive as fast as the client reads them. The others would arrive all
    // together, and end the stream again.
    await eventually(
      () => world.server.store.all('SELECT id FROM audit_log WHERE sequence IS NULL LIMIT 1'),
      ({ length }) => length === 0,
    )
    const resumed = await follow(world.operator, path, { 'last-event-id': told.at(-1)?.id ?? '' })
    await resumed.come(150 - told.length)
    const turns = [...told, ...resumed.messages].map(({ data }) =>
      Number.parseInt(JSON.parse(data).after.note, 10),
    )
    expect(turns).toEqual(Array.from({ length: 150 }, (_, index) => index + 1))
  })

  it('sends events of a moved account to the accounts that were above it at the time, in pages and in streams', async () => {
    const [one, other] = [await world.account(world.master), await world.account(world.master)]
    const child = await world.account(one)
    const before = await addUser(child.path, 'Before')
    const query = 'include_subaccounts=true&type=user.*'
    const streams = await Promise.all(
      [one, other].map(({ path }) => follow(world.operator, `${path}/events?${query}`)),
    )
    await streams[0]?.come(1)
    expect(await world.operator.post(`${child.path}/move`, { to: other.id })).toSucceed()
    const after = await addUser(child.path, 'After')
    await streams[1]?.come(1)
    const beside = await addUser(one.path, 'Beside')
    await streams[0]?.come(2)
    const idsOf = (stream?: EventStream) => stream?.messages.map(({ data }) => JSON.parse(data).record.id)
    expect(streams.map(idsOf)).toEqual([[before, beside], [after]])
    const pages = await Promise.all([one, other].map(({ path }) => eventsOf(world.operator, path, query)))
    expect(pages.map(({ events }) => events.map(({ record }) => record.id))).toEqual([
      [before, beside],
      [after],
    ])
  })
})
