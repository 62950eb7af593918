// Bodies that are made to cost the server more than their sender.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { processorSecondsOf } from '../../bench/server.ts'
import { headOf, openRaw, type RawConnection } from '../support/servers/raw-connection.ts'
import { removeDataDir, type ServerProcess, startServerProcess } from '../support/servers/server-process.ts'
import { freeRequests, openSession, type Session } from '../support/world/session.ts'
import { someOf } from '../support/world/walk.ts'
import { describeAnyEngine, useWorld, type World } from '../support/world/world.ts'

const largest = 7_900_000
const json = 'application/json'
const form = 'application/x-www-form-urlencoded'
const multipart = 'multipart/form-data; boundary=x'

const filled = (open: string, unit: string, close: string) =>
  open + unit.repeat(Math.floor((largest - open.length - close.length) / unit.length)) + close

const part = (head: string, body = '') => `--x\r\n${head}\r\n\r\n${body}\r\n`
const nest = (depth: number) => '['.repeat(depth) + ']'.repeat(depth)
const inData = (unit: string, last: string) => filled('{"data":[', unit, `${last}]}`)

const bodies = [
  ['a form of separators only', form, filled('', 'a&', '')],
  ['a form of percent signs that stand for nothing', form, filled('a=', '%', '')],
  ['empty arrays', json, inData('[],', '[]')],
  ['empty objects', json, inData('{},', '{}')],
  ['arrays in arrays', json, inData(`${nest(50)},`, '1')],
  ['arrays that never end', json, filled('{"data":', '[', '')],
  ['numbers', json, inData('1,', '1')],
  ['keys', json, filled('{"data":{', '"":1,', '"a":1}}')],
  ['parts of nothing', multipart, filled('', part('content-disposition: form-data; name="a"'), '--x--\r\n')],
  ['a part that is all head', multipart, filled('--x\r\n', 'a: b\r\n', '\r\n\r\n--x--\r\n')],
  ['a part of boundaries that are none', multipart, filled(part('a: b').slice(0, -2), '\r\n--', '')],
  ['base64 of spaces', 'application/base64', filled('', ' ', '!')],
  ['base64 of equals signs', 'application/base64', filled('', '=', '!')],
] as const

const drawn = someOf(6, bodies)

// A body that costs more than linear work takes minutes. The processor's time hardly depends on what else runs.
const maxProcessorSeconds = 4

/** Seconds of the processor that a server spends on something, and on an answer to another client at the end of it. */
const costOf = async (server: ServerProcess, act: () => Promise<unknown>) => {
  const spent = () => processorSecondsOf(Number(server.process.pid))
  const before = await spent()
  await act()
  expect((await fetch(`${server.url}/healthz`)).status).toBe(200)
  return (await spent()) - before
}

describe('a body', () => {
  let server: ServerProcess
  let session: Session

  beforeAll(async () => {
    server = await startServerProcess({ CROSSPOINT_DATABASE_URL: undefined })
    session = await openSession(server)
    await freeRequests(session)
  })

  afterAll(async () => {
    session.close()
    await server.end()
    removeDataDir(server)
  })

  const put = (path: string, type: string, body: string, headers: Record<string, string> = {}) =>
    fetch(server.url + path, { method: 'PUT', body, headers: { 'content-type': type, ...headers } })

  it.each(drawn)('of %s costs the server little, with and without a token', async (_name, type, body) => {
    const statuses: number[] = []
    const send = async (headers: Record<string, string>) => {
      const answer = await put(`/v2/accounts/${session.masterId}/users`, type, body, headers)
      statuses.push(answer.status)
      await answer.text()
    }
    const cost = await costOf(server, async () => {
      await send({})
      await send({ 'x-auth-token': session.token })
    })
    expect(statuses[0]).toBe(401)
    expect([400, 413, 415]).toContain(statuses[1])
    expect(cost).toBeLessThan(maxProcessorSeconds)
  })

  it.each(drawn)('of %s costs the server little when it is small', async (_name, type, body) => {
    const cost = await costOf(server, async () => {
      for (let round = 0; round < 5; round += 1)
        await (await put('/v2/user_auth', type, body.slice(0, 65_000))).text()
    })
    expect(cost).toBeLessThan(maxProcessorSeconds)
  })
})

const chunk = (bytes: string) => `${bytes.length.toString(16)}\r\n${bytes}\r\n`
const user = { first_name: 'A', last_name: 'B' }
const padded = (bytes: number, envelope: object = {}) =>
  JSON.stringify({ data: { ...user, note: 'x'.repeat(bytes) }, ...envelope })

describeAnyEngine('a body of more than 64 kB', (engine) => {
  const world = useWorld(engine)
  const users = () => `${world.acme.path}/users`
  const open: RawConnection[] = []

  const raw = async () => {
    const connection = await openRaw(world.server.port)
    open.push(connection)
    return connection
  }

  afterAll(() => {
    for (const connection of open) connection.end()
  })

  const credential = () => `x-auth-token: ${world.ada.token}`

  it('is not waited for before it is known who sends it', async () => {
    const connection = await raw()
    await connection.write(headOf(`PUT ${users()}`, 'content-length: 1000000'))
    const [answer] = await connection.answered()
    expect(answer?.status).toBe(401)
    expect(JSON.parse(answer?.body ?? '')).toMatchObject({
      message: 'invalid_credentials',
      data: {
        message: 'a body of more than 65536 bytes needs its credential in a header or in the query',
      },
    })
  })

  it('is refused as soon as it is that large, when its length is not declared', async () => {
    const connection = await raw()
    await connection.write(headOf(`PUT ${users()}`, 'transfer-encoding: chunked') + chunk('x'.repeat(70_000)))
    expect((await connection.answered())[0]?.status).toBe(401)
  })

  it('is not waited for where it is not allowed, or where there is nothing', async () => {
    const [strange, unknown] = [await raw(), await raw()]
    await strange.write(headOf(`PUT ${world.rival.path}/users`, credential(), 'content-length: 1000000'))
    await unknown.write(headOf('PUT /v2/nothing', credential(), 'content-length: 1000000'))
    expect((await strange.answered())[0]?.status).toBe(403)
    expect((await unknown.answered())[0]?.status).toBe(404)
  })

  it('is asked for only when it is wanted', async () => {
    const [stranger, known] = [await raw(), await raw()]
    const expecting = ['expect: 100-continue', `content-length: ${padded(70_000).length}`]
    await stranger.write(headOf(`PUT ${users()}`, ...expecting))
    await known.write(headOf(`PUT ${users()}`, credential(), ...expecting))
    expect((await stranger.answered())[0]?.status).toBe(401)
    expect(stranger.text()).not.toContain('100 Continue')
    await known.write(padded(70_000))
    expect((await known.answered())[0]?.status).toBe(201)
    expect(known.text()).toMatch(/^HTTP\/1\.1 100 Continue/)
  })

  it('is read completely for callers who may send it, with or without a declared length', async () => {
    const note = 'x'.repeat(200_000)
    const told = await world.ada.put(users(), { ...user, note })
    expect(told).toSucceed()
    expect(told.data.note).toBe(note)
    const headers = { 'transfer-encoding': 'chunked', 'content-length': [] as string[] }
    const untold = await world.ada.put(users(), undefined, { body: padded(200_000), headers })
    expect(untold).toSucceed()
    expect(untold.data.note).toBe(note)
  })

  it('has its token in a header or in the query', async () => {
    const body = padded(70_000, { auth_token: world.ada.token })
    expect(await world.unchanged(() => world.anonymous.put(users(), undefined, { body }))).toFailWith(
      401,
      'invalid_credentials',
      { message: 'a body of more than 65536 bytes needs its credential in a header or in the query' },
    )
    const query = { auth_token: world.ada.token }
    expect(await world.anonymous.put(users(), undefined, { body, query })).toSucceed()
  })

  it('has its verb in the query', async () => {
    const body = padded(70_000, { verb: 'PUT' })
    const misplaced = {
      verb: {
        invalid: {
          message: 'The verb of a body of more than 65536 bytes must be in the query',
          value: 'PUT',
        },
      },
    }
    const asPost = () => world.ada.post(world.uli.path, undefined, { body })
    expect(await world.unchanged(asPost)).toFailWith(400, 'validation error', misplaced)
    expect(await world.ada.post(users(), undefined, { body, query: { verb: 'PUT' } })).toSucceed(201)
  })

  it('is not read at all on public routes without a known caller', async () => {
    const answer = await world.unchanged(() =>
      world.anonymous.put('/v2/user_auth', undefined, { body: padded(70_000) }),
    )
    expect(answer).toFailWith(413, 'validation error', {
      file: { maxSize: { message: 'Body is larger than 65536 bytes', target: 65_536 } },
    })
  })

  it('is as large as the operator says', async () => {
    await world.configure('crossbar', { unjudged_body_size: 1024 })
    const body = padded(2000, { auth_token: world.ada.token })
    expect(await world.anonymous.put(users(), undefined, { body })).toFailWith(401, 'invalid_credentials')
    await world.configure('crossbar', { unjudged_body_size: 65_536 })
    expect(await world.anonymous.put(users(), undefined, { body })).toSucceed()
  })

  it('is carried out once under its Idempotency-Key', async () => {
    const send = (bytes: number) =>
      world.ada.put(users(), undefined, {
        body: padded(bytes),
        headers: { 'idempotency-key': 'large', 'content-type': json },
      })
    const [first, second] = [await send(80_000), await send(80_000)]
    expect(first).toSucceed()
    expect(second.headers['idempotent-replayed']).toBe('true')
    expect(second.data.id).toBe(first.data.id)
    expect(await send(80_001)).toFailWith(409, 'idempotency_conflict')
  })
})

describeAnyEngine('the contents of a body', (engine) => {
  const world = useWorld(engine)
  const users = () => `${world.acme.path}/users`
  const send = (body: string, type: string) =>
    world.unchanged(() => world.ada.put(users(), undefined, { body, headers: { 'content-type': type } }))

  it('are counted', async () => {
    await world.configure('crossbar', { max_body_values: 1000, max_form_fields: 10 })
    const message = (text: string) => ({ invalid: { message: text, target: 'body' } })
    const values = JSON.stringify({ data: { ...user, list: Array(1000).fill(1) } })
    const tooManyValues = { json: message('contains more than 1000 values') }
    expect(await send(values, json)).toFailWith(400, 'validation error', tooManyValues)
    const tooManyFields = { form: message('has more than 10 fields') }
    expect(await send('a=1&'.repeat(11), form)).toFailWith(400, 'validation error', tooManyFields)
    const parts = `${part('content-disposition: form-data; name="a"').repeat(11)}--x--\r\n`
    expect(await send(parts, multipart)).toFailWith(400, 'validation error', tooManyFields)
    await world.configure('crossbar', { max_body_values: 100_000, max_form_fields: 1000 })
    expect(await world.ada.put(users(), { ...user, flags: Array(1000).fill('a') })).toSucceed()
  })
})

const useThrottledWorld = (engine: Parameters<typeof useWorld>[0]): World =>
  useWorld(engine, (world) => world.configure('crossbar', { token_costs: 1, derivation_tokens: 0 }))

describeAnyEngine('the price of a body', (engine) => {
  const world = useThrottledWorld(engine)
  let lastAddress = 0

  const caller = () => {
    lastAddress += 1
    return world.ada.with({ 'x-forwarded-for': `203.0.113.${lastAddress}` })
  }
  const users = () => `${world.acme.path}/users`
  const noted = (bytes: number) => ({ ...user, note: 'x'.repeat(bytes) })

  it('grows with what is beyond 64 kB', async () => {
    const client = caller()
    const small = await client.put(users(), noted(60_000))
    expect(small.body.tokens).toEqual({ consumed: 1, remaining: 99 })
    const large = await client.put(users(), noted(1_000_000))
    expect(large.body.tokens).toEqual({ consumed: 39, remaining: 60 })
  })

  it('is the same when its length is not declared', async () => {
    const headers = { 'transfer-encoding': 'chunked', 'content-length': [] as string[] }
    const answer = await caller().put(users(), undefined, { body: padded(1_000_000), headers })
    expect(answer.body.tokens).toEqual({ consumed: 39, remaining: 61 })
  })

  it('is asked for before the body is read', async () => {
    const client = caller()
    const all = Array.from({ length: 100 }, () => client.get(users()))
    for (const answer of await Promise.all(all)) expect(answer).toSucceed()
    const connection = await openRaw(world.server.port)
    const headers = [
      `x-auth-token: ${world.ada.token}`,
      `x-forwarded-for: 203.0.113.${lastAddress}`,
      'content-length: 1000000',
    ]
    world.clock.advance({ seconds: 1 })
    // Ten tokens have come back: enough for the request, and for no more than 300 kB.
    await connection.write(headOf(`PUT ${users()}`, ...headers).replace('1000000', '7000000'))
    expect((await connection.answered())[0]?.status).toBe(429)
    connection.end()
  })

  it('is charged once for each change of a record of that size, and not for reads', async () => {
    const made = await caller().put(users(), noted(300_000))
    const price = made.body.tokens?.consumed ?? 0
    expect(price).toBeGreaterThan(5)
    const path = `${users()}/${made.data.id}`
    const changed = await caller().patch(path, { first_name: 'Other' })
    expect(changed).toSucceed()
    expect(changed.body.tokens).toEqual({ consumed: price, remaining: 100 - price })
    expect((await caller().get(path)).body.tokens).toEqual({ consumed: 1, remaining: 99 })
    expect((await caller().delete(path)).body.tokens).toEqual({ consumed: price, remaining: 100 - price })
    const poor = caller()
    for (let spent = 0; spent < 100; spent += 1) await poor.get(users())
    const kept = await caller().put(users(), noted(300_000))
    expect(await poor.patch(`${users()}/${kept.data.id}`, { first_name: 'No' })).toFailWith(
      429,
      'too_many_requests',
      { message: 'too many requests' },
    )
  })

  it('is paid once for a large body and the large record in whose place it comes', async () => {
    const client = caller()
    const made = await client.put(users(), noted(900_000))
    const price = made.body.tokens?.consumed ?? 0
    const path = `${users()}/${made.data.id}`
    world.clock.advance({ seconds: 60 })
    const replaced = await client.post(path, noted(850_000))
    expect(replaced.body.tokens).toEqual({ consumed: price, remaining: 100 - price })
    world.clock.advance({ seconds: 60 })
    // The record is the larger one.
    const shorter = await client.post(path, noted(300_000))
    expect(shorter.body.tokens?.consumed).toBeLessThan(price)
    expect(shorter.body.tokens?.consumed).toBeGreaterThan(30)
  })

  it('can be paid after the wait that the refusal names, whatever was spent before it', async () => {
    const client = caller()
    const { data } = await caller().put(users(), noted(900_000))
    const change = () => client.post(`${users()}/${data.id}`, noted(400_000))
    for (let round = 0; round < 6; round += 1) {
      const first = await change()
      if (first.status === 200) continue
      expect(first.status).toBe(429)
      world.clock.advance({ seconds: Number(first.headers['retry-after']) })
      expect(await change()).toSucceed()
    }
  })

  it('is charged for the whole record when a part of it changes', async () => {
    const { id } = await world.device(world.acme, { name: 'Large', note: 'x'.repeat(300_000) })
    const lists = `${world.acme.path}/devices/${id}/access_lists`
    const answer = await caller().post(lists, { order: 'allow,deny', cidrs: ['10.0.0.0/8'] })
    expect(answer).toSucceed()
    expect(answer.body.tokens?.consumed).toBe(11)
    expect((await caller().delete(lists)).body.tokens?.consumed).toBe(11)
  })

  it('is a tenth for a list of many, which may have ten times as many values', async () => {
    const records = Array.from({ length: 60_000 }, (_, at) => ({ e164: `+1415${1_000_000 + at}` }))
    const query = { category: 'number_management', action: 'find' }
    const rows = await caller().put(`${world.acme.path}/tasks`, { records }, { query })
    expect(rows).toSucceed()
    expect(rows.body.tokens).toEqual({ consumed: 7, remaining: 93 })
    const calls = Array.from({ length: 60_000 }, (_, at) => ({ call_id: `call ${at}` }))
    const client = world.operator.with({ 'x-forwarded-for': '203.0.113.250' })
    const taken = await client.put('/v2/cdrs', calls)
    expect(taken).toSucceed()
    expect(taken.data).toMatchObject({ accepted: 0, rejected_total: 60_000 })
    expect(taken.body.tokens?.consumed).toBeLessThan(8)
    expect(await caller().put(users(), { ...user, many: calls })).toFailWith(413, 'record_too_large')
  })

  it('is never more than half of a bucket', async () => {
    await world.configure('crossbar', { body_bytes_per_token: 1024 })
    const answer = await caller().put(users(), noted(1_000_000))
    expect(answer.body.tokens).toEqual({ consumed: 51, remaining: 49 })
    await world.configure('crossbar', { body_bytes_per_token: 25_000 })
  })

  it('is nothing where requests cost nothing', async () => {
    await world.configure('crossbar', { token_costs: 0 })
    const answer = await caller().put(users(), noted(1_000_000))
    expect(answer.body.tokens).toEqual({ consumed: 0, remaining: 100 })
    await world.configure('crossbar', { token_costs: 1 })
  })

  it('leaves a list of some megabytes to every client with a full bucket', async () => {
    const rows = Array.from({ length: 150_000 }, (_, index) => `+1415${1_000_000 + index},`)
    const body = `e164,account_id\r\n${rows.join('\r\n')}\r\n`
    const query = { category: 'number_management', action: 'import' }
    const headers = { 'content-type': 'text/csv' }
    const answer = await caller().put(`${world.acme.path}/tasks`, undefined, { body, headers, query })
    expect(answer).toSucceed()
    expect(answer.body.tokens).toEqual({ consumed: 1, remaining: 99 })
  })
})
