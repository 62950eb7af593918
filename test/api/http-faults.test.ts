// Responses to internal errors.
import { afterEach, expect, it, onTestFinished } from 'vitest'
import { gregorianNow } from '../../src/lib/gregorian.ts'
import { ChangeSet, conflict } from '../../src/storage/change-set.ts'
import { eventually } from '../support/run/eventually.ts'
import { createFaults, says } from '../support/servers/faulty-database.ts'
import { engines } from '../support/servers/postgres.ts'
import {
  buildWorld,
  describeAnyEngine,
  type TestAccount,
  useWorld,
  type World,
} from '../support/world/world.ts'

/** Makes the stored text of a user unreadable, as a damaged disk would. */
const damage = (world: World, account: TestAccount, id: string) =>
  world.server.store.commit(
    new ChangeSet({ requestId: 'test' })
      .run("UPDATE records SET doc = '{broken' WHERE account_id = $1 AND id = $2", [account.id, id])
      .record({ accountId: account.id, kind: 'user', id, action: 'edited' }),
  )

describeAnyEngine('faults', (engine) => {
  const world = useWorld(engine)

  it('of the server return a plain 500 without details, and write one log entry with all details', async () => {
    const user = await world.user(world.acme)
    await damage(world, world.acme, user.id)
    const headers = { 'x-request-id': 'broken' }
    const answer = await world.unchecked(world.ada).patch(user.path, { note: 'x' }, { headers })
    expect(answer.status).toBe(500)
    expect(answer.headers).toMatchObject({
      'content-type': 'application/json',
      'access-control-allow-origin': '*',
    })
    expect(answer.body).toEqual({
      data: { message: 'unspecified fault' },
      metadata: {},
      error: '500',
      message: 'unspecified_fault',
      status: 'error',
      request_id: 'broken',
      tokens: { consumed: 0, remaining: 100 },
      auth_token: world.ada.token,
      version: expect.any(String),
      timestamp: '2026-01-05T12:00:00.000Z',
      node: expect.any(String),
    })
    expect(world.takeErrors()).toEqual([
      {
        level: 'error',
        message: 'a request failed',
        fields: {
          request_id: 'broken',
          trace_id: expect.stringMatching(/^[0-9a-f]{32}$/),
          method: 'PATCH',
          route: '/v2/accounts/{account_id}/users/{user_id}',
          error: expect.objectContaining({ name: 'SyntaxError', stack: expect.any(String) }),
        },
      },
    ])
  })

  it('of one record do not keep others from being read', async () => {
    const [bad, good] = [await world.user(world.acme), await world.user(world.acme)]
    await damage(world, world.acme, bad.id)
    expect(await world.ada.get(good.path)).toSucceed()
    expect(await world.ada.get(`${world.acme.path}/users`)).toSucceed()
    world.takeErrors()
  })
})

describeAnyEngine('a lost race', (engine) => {
  const faults = createFaults()
  const world = useWorld(engine, undefined, undefined, { over: faults.over })

  /** Lets this number of writes of this kind lose the race; returns how many there were. */
  const loseRaces = (count: number, part: string) => {
    let asked = 0
    faults.state.onWrite = (write) => {
      if (!says(write, part)) return undefined
      asked += 1
      if (asked <= count) throw conflict()
      return undefined
    }
    return () => asked
  }

  afterEach(() => faults.mend())

  it('is run again, four times at most, and the change is made once', async () => {
    const user = await world.user(world.acme)
    const writes = loseRaces(4, 'UPDATE records')
    expect(await world.ada.patch(user.path, { note: 'x' })).toSucceed()
    expect(writes()).toBe(5)
    faults.mend()
    expect((await world.ada.get(user.path)).data).toMatchObject({ note: 'x' })
  })

  it('is answered with 409 when it is lost five times, and changes nothing', async () => {
    const user = await world.user(world.acme)
    const before = await world.ada.get(user.path)
    const writes = loseRaces(5, 'UPDATE records')
    expect(await world.ada.patch(user.path, { note: 'x' })).toFailWith(409, 'datastore_conflict', {
      message: 'conflicting documents',
    })
    expect(writes()).toBe(5)
    faults.mend()
    expect((await world.ada.get(user.path)).data).toEqual(before.data)
  })

  it('of a body that came as a stream is answered as it is: the stream is over', async () => {
    const record = JSON.stringify({
      call_id: 'lost-race',
      timestamp: gregorianNow(world.clock),
      custom_channel_vars: { account_id: world.acme.id },
    })
    const writes = loseRaces(Number.POSITIVE_INFINITY, 'INSERT INTO cdrs')
    const sent = { body: Buffer.from(record), headers: { 'content-type': 'application/x-ndjson' } }
    expect(await world.operator.put('/v2/cdrs', undefined, sent)).toFailWith(409, 'datastore_conflict', {
      message: 'conflicting documents',
    })
    expect(writes()).toBeGreaterThan(0)
  })
})

it.runIf(engines.includes('postgres'))(
  'a PostgreSQL database that is dropped is answered with 503, and the process says that it is not ready',
  async () => {
    // A world with changes has its own database.
    const world = await buildWorld('postgres', undefined, { more: [] })
    onTestFinished(world.close)
    expect(await world.anonymous.get('/readyz')).toMatchObject({ status: 200 })
    await world.place.remove()
    for (const answer of [
      await world.ada.get(world.uli.path),
      await world.ada.patch(world.uli.path, { a: 1 }),
    ])
      expect(answer).toFailWith(503, 'datastore_unreachable', { message: 'datastore unreachable' })
    // The server caches the result for a second.
    await eventually(
      () => world.anonymous.get('/readyz'),
      ({ status }) => status === 503,
    )
    expect(await world.anonymous.get('/healthz')).toMatchObject({ status: 200 })
    expect(world.takeErrors().length).toBeGreaterThan(0)
  },
)
