// Idempotency-Key: the server runs a request once, and a client that repeats it gets the first answer.
import { expect, it } from 'vitest'
import { startServer } from '../../src/compose.ts'
import type { Json } from '../../src/lib/json.ts'
import { createTestLog } from '../support/run/log.ts'
import type { Client } from '../support/world/client.ts'
import { createTransport } from '../support/world/client.ts'
import { finishTask } from '../support/world/task-runs.ts'
import { describeEngines, useWorld } from '../support/world/world.ts'

describeEngines('an Idempotency-Key', (engine) => {
  const world = useWorld(engine)

  let keys = 0
  const freshKey = () => `key-${++keys}`

  const put = (path: string, data: Json, key: string, envelope: Json = {}) =>
    world.ross.put(path, undefined, {
      body: JSON.stringify({ data, ...envelope }),
      headers: { 'idempotency-key': key },
    })

  const credit = (amount: number) => ({
    source: { service: 'payments', id: 'cash' },
    usage: { type: 'cash', quantity: 1, unit: 'note' },
    amount,
  })

  /** As a process leaves it that dies between the commit and the answer. */
  const loseAnswer = (key: string) =>
    world.server.store.writeUnrecorded([
      {
        sql: `UPDATE idempotency_keys SET answer = NULL, holder = replace(holder, '"process":"', '"process":"gone')
          WHERE idem_key = $1`,
        params: [key],
      },
    ])

  const customer = () => world.account(world.reseller)
  const total = async (path: string) => (await world.ross.get(`${path}/ledgers/total`)).data.amount

  it('lets a repeated request have the first answer, and happen once', async () => {
    const { path } = await customer()
    const key = freshKey()
    const first = await put(`${path}/ledgers/credit`, credit(5), key)
    expect(first.status).toBe(201)
    expect(first.headers['idempotent-replayed']).toBeUndefined()
    world.clock.advance({ seconds: 5 })
    const again = await world.unchanged(() => put(`${path}/ledgers/credit`, credit(5), key))
    expect(again.status).toBe(201)
    expect(again.text).toBe(first.text)
    expect(again.headers['idempotent-replayed']).toBe('true')
    expect(await total(path)).toBe(5)
  })

  it('works for every PUT and POST, not only for money', async () => {
    const { path } = await customer()
    const key = freshKey()
    const name = { first_name: 'One', last_name: 'Time' }
    const made = await put(`${path}/users`, name, key)
    const again = await world.unchanged(() => put(`${path}/users`, name, key))
    expect(again.data.id).toBe(made.data.id)
    expect(again.headers.location).toBe(made.headers.location)
    expect((await world.ross.get(`${path}/users`)).data).toHaveLength(1)
  })

  it('works for PATCH and DELETE: with the revision that was read, and for deleted records', async () => {
    const { path } = await customer()
    const made = await put(`${path}/users`, { first_name: 'One', last_name: 'Time' }, freshKey())
    const user = `${path}/users/${made.data.id}`
    const headers = { 'idempotency-key': freshKey(), 'if-match': made.headers.etag ?? '' }
    const rename = () => world.ross.patch(user, { first_name: 'Once' }, { headers })
    const renamed = await rename()
    expect(renamed).toSucceed()
    const again = await world.unchanged(rename)
    expect(again.text).toBe(renamed.text)
    const key = { 'idempotency-key': freshKey() }
    const remove = () => world.ross.delete(user, undefined, { headers: key })
    const removed = await remove()
    expect(removed).toSucceed()
    expect((await world.unchanged(remove)).text).toBe(removed.text)
  })

  it('refuses another request under the same key', async () => {
    const { path } = await customer()
    const key = freshKey()
    await put(`${path}/ledgers/credit`, credit(5), key)
    for (const other of [
      () => put(`${path}/ledgers/credit`, credit(6), key),
      () => put(`${path}/ledgers/debit`, credit(5), key),
    ]) {
      expect(await world.unchanged(other)).toFailWith(409, 'idempotency_conflict', {
        message: 'Idempotency-Key was already used for a different request. Send a new key',
      })
    }
    expect(await total(path)).toBe(5)
  })

  it('is free again after a request that was refused', async () => {
    const { path } = await customer()
    const key = freshKey()
    const name = { first_name: 'One', last_name: 'Time', username: 'the-only-one' }
    const other = await put(`${path}/users`, name, freshKey())
    const refused = await world.unchanged(() => put(`${path}/users`, name, key))
    expect(refused.status).toBe(400)
    expect((await world.ross.delete(`${path}/users/${other.data.id}`)).status).toBe(200)
    expect((await put(`${path}/users`, name, key)).status).toBe(201)
    expect((await world.ross.get(`${path}/users`)).data).toHaveLength(1)
  })

  it('belongs to the account that calls', async () => {
    const { path } = await customer()
    const key = freshKey()
    await put(`${path}/ledgers/credit`, credit(5), key)
    const body = JSON.stringify({ data: { first_name: 'A', last_name: 'B' } })
    const other = await world.ada.put(`${world.acme.path}/users`, undefined, {
      body,
      headers: { 'idempotency-key': key },
    })
    expect(other.status).toBe(201)
  })

  it('lets one of many requests at once be carried out', async () => {
    const { path } = await customer()
    const key = freshKey()
    const answers = await Promise.all(
      Array.from({ length: 12 }, () => put(`${path}/ledgers/credit`, credit(3), key)),
    )
    const statuses = new Set(answers.map(({ status }) => status))
    expect([...statuses].every((status) => status === 201 || status === 409)).toBe(true)
    const texts = new Set(answers.filter(({ status }) => status === 201).map(({ text }) => text))
    expect(texts.size).toBe(1)
    expect(await total(path)).toBe(3)
  })

  it('is a bounded, printable text', async () => {
    const { path } = await customer()
    for (const key of ['x'.repeat(256), 'two words']) {
      const answer = await world.unchanged(() => put(`${path}/ledgers/credit`, credit(1), key))
      expect(answer).toFailWith(400, 'validation error', {
        'idempotency-key': {
          pattern: { message: 'Must be 1 to 255 printable characters without spaces' },
        },
      })
    }
  })

  it('is known to every process of the store', async () => {
    const { path } = await customer()
    const key = freshKey()
    const first = await put(`${path}/ledgers/credit`, credit(5), key)
    const other = await startServer(world.config, { clock: world.clock, log: createTestLog().log })
    const transport = createTransport(other.port)
    try {
      const again = await transport.send({
        method: 'PUT',
        path: `${path}/ledgers/credit`,
        headers: {
          'x-auth-token': world.ross.token,
          'content-type': 'application/json',
          'idempotency-key': key,
        },
        body: JSON.stringify({ data: credit(5) }),
      })
      expect(again.text).toBe(first.text)
    } finally {
      transport.close()
      await other.stop()
    }
  })

  it('lets money be answered again when the first answer was lost in a crash', async () => {
    const { path } = await customer()
    const key = freshKey()
    const first = await put(`${path}/ledgers/credit`, credit(5), key)
    await loseAnswer(key)
    const again = await put(`${path}/ledgers/credit`, credit(5), key)
    expect(again.status).toBe(201)
    expect(again.data).toEqual(first.data)
    expect(await total(path)).toBe(5)
  })

  it('returns the created record to a repeated request when the first answer was lost in a crash', async () => {
    const { path } = await customer()
    const key = freshKey()
    const name = { first_name: 'One', last_name: 'Time' }
    const first = await put(`${path}/users`, name, key)
    await loseAnswer(key)
    const again = await world.unchanged(() => put(`${path}/users`, name, key))
    expect(again.status).toBe(201)
    expect(again.data).toEqual(first.data)
    expect(again.body.metadata).toEqual(first.body.metadata)
    expect(again.headers.location).toBe(first.headers.location)
    expect((await put(`${path}/users`, name, key)).text).toBe(again.text)
  })

  it('returns the changed record to a repeated request when the first answer was lost in a crash', async () => {
    const { path } = await customer()
    const key = freshKey()
    const change = () =>
      world.ross.post(`${path}/users/${id}`, { first_name: 'Other', last_name: 'Time' }, { headers })
    const headers = { 'idempotency-key': key }
    const { id } = (await put(`${path}/users`, { first_name: 'One', last_name: 'Time' }, freshKey())).data
    const first = await change()
    await loseAnswer(key)
    const again = await world.unchanged(change)
    expect(again).toSucceedWith(first.data)
  })

  it('knows the account that was made, and not its parent', async () => {
    const { path } = await customer()
    const key = freshKey()
    const account = { name: 'Made once', realm: 'made.once.test' }
    const first = await put(path, account, key)
    await loseAnswer(key)
    const again = await world.unchanged(() => put(path, account, key))
    expect(again.status).toBe(201)
    expect(again.data).toEqual(first.data)
    expect(again.headers.location).toBe(first.headers.location)
  })

  it('returns what was done when the record no longer exists', async () => {
    const account = await customer()
    const key = freshKey()
    const name = { first_name: 'One', last_name: 'Time' }
    const made = await put(`${account.path}/users`, name, key)
    await world.ross.delete(`${account.path}/users/${made.data.id}`)
    await loseAnswer(key)
    for (const _ of [1, 2]) {
      expect(await world.unchanged(() => put(`${account.path}/users`, name, key))).toFailWith(
        409,
        'idempotency_conflict',
        {
          message: 'the request was completed, but its response is no longer available',
          changes: [{ account_id: account.id, kind: 'user', id: made.data.id, action: 'created' }],
        },
      )
    }
  })

  it('ends with its request: a task that was made under it runs when it is forgotten', async () => {
    const { path } = await customer()
    const query = { category: 'services', action: 'descendant_quantities' }
    const headers = { 'idempotency-key': freshKey() }
    const made = await world.ross.put(`${path}/tasks`, {}, { query, headers })
    await world.server.store.writeUnrecorded([{ sql: 'DELETE FROM idempotency_keys', params: [] }])
    const { task } = await finishTask(world.ross, `${path}/tasks/${made.body.metadata.id}`)
    expect(task.status).toBe('success')
  })

  it('is forgotten after its time for the user who sent it, and stays for others', async () => {
    const { path } = await customer()
    const colleague = await world.admin(world.reseller)
    const headers = { 'idempotency-key': freshKey() }
    const send = (by: Client) =>
      by.put(`${path}/users`, { first_name: 'One', last_name: 'Time' }, { headers })
    await send(world.ross)
    world.clock.advance({ hours: 23, minutes: 59 })
    const first = await send(colleague)
    world.clock.advance({ minutes: 2 })
    await world.server.scheduler.runNow('idempotency')
    expect((await send(colleague)).text).toBe(first.text)
  })

  it('applies to lists that a POST answers with', async () => {
    const { path } = await customer()
    const headers = { 'idempotency-key': freshKey() }
    const fix = () => world.ross.post(`${path}/phone_numbers/fix`, {}, { headers })
    const first = await fix()
    const again = await fix()
    expect([again.status, again.text]).toEqual([200, first.text])
    expect(again.headers['idempotent-replayed']).toBe('true')
  })

  it('is forgotten after its time', async () => {
    const { path } = await customer()
    const key = freshKey()
    await put(`${path}/ledgers/credit`, credit(5), key)
    world.clock.advance({ hours: 25 })
    await world.server.scheduler.runNow('idempotency')
    expect(await world.server.store.all('SELECT idem_key FROM idempotency_keys')).toEqual([])
  })
})
