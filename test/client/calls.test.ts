// The typed client: refused calls, calls with charges, concurrent edits, and retries.
import { createServer } from 'node:http'
import { afterEach, expect, it } from 'vitest'
import {
  ChargesNeeded,
  CrosspointError,
  type CrosspointOptions,
  createCrosspoint,
  ifMatch,
  StaleEdit,
  Unreachable,
  type Waiting,
} from '../../client/src/core.ts'
import { isRepeatable } from '../../client/src/sending.ts'
import type { Json } from '../../src/lib/json.ts'
import { createCuttable } from '../support/servers/cuttable.ts'
import { clientAs, serverOf } from '../support/world/crosspoint.ts'
import { describeAnyEngine, type Person, type TestAccount, useWorld } from '../support/world/world.ts'

const errorOf = async (call: Promise<unknown>): Promise<CrosspointError> => {
  const error: unknown = await call.then(
    () => undefined,
    (reason) => reason,
  )
  if (error instanceof CrosspointError) return error
  throw error
}

describeAnyEngine('a call of the typed client', (engine) => {
  const world = useWorld(engine)
  const leaving: (() => unknown)[] = []
  afterEach(async () => {
    for (const leave of leaving.splice(0).reverse()) await leave()
  })

  const as = (person: Person, options: Partial<CrosspointOptions> = {}) =>
    clientAs(person, options.server ?? serverOf(world), options)

  const cuttable = async () => {
    const line = await createCuttable(serverOf(world))
    leaving.push(() => line.close())
    return line
  }

  const phones = async (account: TestAccount) =>
    (await world.operator.get(`${account.path}/devices`)).data as { name: string }[]

  it('answers with the data, the envelope and the response', async () => {
    const client = await as(world.ada)
    const { path } = await world.device(world.acme, { name: 'Desk' })
    const { data, envelope, response } = await client.request<{ name: string }>({ path })
    expect(data.name).toBe('Desk')
    expect(envelope).toMatchObject({ status: 'success', data, request_id: expect.any(String) })
    expect(response.headers.get('etag')).toBe(ifMatch(envelope)['if-match'])
  })

  it('takes any path of its server, and none of another', async () => {
    const client = await as(world.ada, { server: `${serverOf(world)}/` })
    const query = { page_size: 1, fields: undefined }
    const { response } = await client.request({ path: `${world.acme.path}/users`, query })
    expect(new URL(response.url).search).toBe('?page_size=1')
    await expect(client.request({ path: '//example.com/v2/accounts' })).rejects.toThrow('no path of')
  })

  it('says of a refused form which field breaks which rule', async () => {
    const client = await as(world.ada)
    const data = { name: '', mac_address: 'nonsense', sip: { method: 'telepathy' } }
    const call = client.request({ method: 'PUT', path: `${world.acme.path}/devices`, data })
    const error = await errorOf(call)
    expect(error).toMatchObject({ status: 400, kind: 'validation error', name: 'CrosspointError' })
    expect(error.problems.map(({ field, rule }) => `${field} ${rule}`).sort()).toEqual([
      'mac_address wrong_format',
      'name minLength',
      'sip.method enum',
    ])
    expect(error.message).toContain('name: ')
    expect(error.requestId).toBe(error.envelope?.request_id)
  })

  it('says in words what else was refused', async () => {
    const client = await as(world.ada)
    expect(await errorOf(client.request({ path: world.rival.path }))).toMatchObject({
      status: 403,
      kind: 'forbidden',
      problems: [],
      message: expect.stringMatching(/^forbidden: .+/),
    })
    expect(await errorOf(client.request({ path: '/v2/nowhere' }))).toMatchObject({ status: 404 })
  })

  /** An account where each user costs two dollars a month, and its admin. */
  const customer = async (price: Json = { rate: 2 }) => {
    const account = await world.account(world.reseller)
    const admin = await world.admin(account)
    const plan = { name: 'Plan', plan: { users: { user: price } } }
    const made = await world.ross.put(`${world.reseller.path}/service_plans`, plan)
    expect(await world.ross.post(`${account.path}/services`, { add: [made.data.id] })).toSucceed()
    await world.credit(account, 100)
    return { account, admin }
  }

  it('that costs something reports the price, and is carried out once the user accepts it', async () => {
    const { account, admin } = await customer()
    const client = await as(admin)
    const data = { first_name: 'A', last_name: 'B' }
    const path = `${account.path}/users`
    const needed = await world.unchanged(() => errorOf(client.request({ method: 'PUT', path, data })))
    if (!(needed instanceof ChargesNeeded)) throw needed
    expect(needed).toMatchObject({ status: 402, kind: 'accept charges', today: 0, recurring: 2 })
    expect(needed.invoices).toMatchObject([
      { items: [{ category: 'users', item: 'user', quantity: 1, rate: 2 }], summary: { recurring: 2 } },
    ])
    const [made, again] = [await needed.accept(), await needed.accept()]
    expect(made.data).toMatchObject(data)
    expect(again).toEqual({ ...made, tokens: expect.anything(), timestamp: expect.anything() })
    expect((await admin.get(path)).data).toHaveLength(2)
  })

  it('that cannot be paid for says so', async () => {
    const { account, admin } = await customer({ rate: 2, activation_charge: 101 })
    await world.prepay(account)
    const client = await as(admin)
    const data = { first_name: 'A', last_name: 'B' }
    const needed = await errorOf(client.request({ method: 'PUT', path: `${account.path}/users`, data }))
    if (!(needed instanceof ChargesNeeded)) throw needed
    expect(needed.today).toBe(101)
    const refused = await world.unchanged(() => errorOf(needed.accept()))
    expect(refused).toMatchObject({ status: 402, kind: 'not_enough_credit', name: 'CrosspointError' })
  })

  it('that changes a record that another user has changed is refused with the current record', async () => {
    const device = await world.device(world.acme)
    const client = await as(world.ada)
    const read = await client.request({ path: device.path })
    await world.operator.patch(device.path, { name: 'Theirs' })
    const edit = { method: 'PATCH', path: device.path, data: { name: 'Mine' } }
    const stale = await errorOf(client.request({ ...edit, headers: ifMatch(read.envelope) }))
    if (!(stale instanceof StaleEdit)) throw stale
    expect(stale.status).toBe(412)
    const current = await stale.current()
    expect(current.data).toMatchObject({ name: 'Theirs' })
    const merged = await client.request({ ...edit, headers: ifMatch(current) })
    expect(merged.data).toMatchObject({ name: 'Mine' })
  })

  it('that writes is sent again when the answer is lost, and is carried out once', async () => {
    const account = await world.account()
    const line = await cuttable()
    const waits: Waiting[] = []
    let lost = 0
    const client = await as(world.operator, {
      server: line.url,
      onWaiting: (waiting) => {
        waits.push(waiting)
        line.mend()
      },
      // The answer is on its way, and the line breaks.
      fetch: async (input, init) => {
        const response = await fetch(input, init)
        if (init?.method !== 'PUT' || lost > 0) return response
        lost += 1
        line.cut()
        throw new TypeError('the line was cut')
      },
    })
    const path = `${account.path}/devices`
    const { data } = await client.request({ method: 'PUT', path, data: { name: 'Once' } })
    expect(waits.map(({ why, method }) => `${method} ${why}`)).toEqual(['PUT unreachable'])
    expect(await phones(account)).toMatchObject([{ name: 'Once' }])
    expect(data).toMatchObject(await phones(account).then(([phone]) => ({ name: phone?.name })))
  })

  it('waits for a broken connection, reading or writing, and continues when it works again', async () => {
    const account = await world.account()
    const line = await cuttable()
    const tries = { count: 0 }
    const client = await as(world.operator, {
      server: line.url,
      onWaiting: () => {
        tries.count += 1
        if (tries.count % 3 === 0) line.mend()
      },
    })
    const data = { name: 'Patient' }
    line.cut()
    await client.request({ path: account.path })
    line.cut()
    const { data: made } = await client.request<{ id: string }>({
      method: 'PUT',
      path: `${account.path}/devices`,
      data,
    })
    line.cut()
    await client.request({
      method: 'PATCH',
      path: `${account.path}/devices/${made.id}`,
      data: { name: 'More' },
    })
    line.cut()
    await client.request({ method: 'DELETE', path: `${account.path}/devices/${made.id}` })
    expect(tries.count).toBe(12)
    expect(await phones(account)).toEqual([])
  })

  it('gives up after its patience, and says so', async () => {
    const line = await cuttable()
    const client = await as(world.operator, { server: line.url, patienceMs: 300 })
    line.cut()
    const error = await errorOf(client.request({ path: world.acme.path }))
    expect(error).toBeInstanceOf(Unreachable)
    expect(error).toMatchObject({ status: 0, kind: 'unreachable' })
  })

  it('gives up a server that falls silent', async () => {
    const line = await cuttable()
    const client = await as(world.operator, { server: line.url, patienceMs: 0, answerWithinMs: 200 })
    line.fallSilent()
    expect(await errorOf(client.request({ path: world.acme.path }))).toBeInstanceOf(Unreachable)
  })

  it('ends while it waits when it is given up', async () => {
    const line = await cuttable()
    const gaveUp = new AbortController()
    const client = await as(world.operator, {
      server: line.url,
      onWaiting: () => gaveUp.abort(new Error('enough')),
    })
    line.cut()
    const call = client.request({ path: world.acme.path, signal: gaveUp.signal })
    await expect(call).rejects.toThrow('enough')
  })

  it('is never sent again where that would make a second token or key, or ring twice', () => {
    const withKey = new Headers({ 'idempotency-key': 'key' })
    const pathOf = (path: string) => `http://x${path.replaceAll(/\{\w+\}/g, 'a1')}`
    const wrong = world.server.routes.filter(({ method, path, spec }) => {
      const isOnce = spec.tellsOnce === true || spec.acts === true
      return isOnce && isRepeatable(method, pathOf(path), withKey)
    })
    expect(wrong.map(({ method, path }) => `${method} ${path}`)).toEqual([])
    const kept = world.server.routes.filter(({ method, path, spec }) => {
      const isOnce = spec.tellsOnce === true || spec.acts === true
      return !isOnce && !isRepeatable(method, pathOf(path), withKey)
    })
    expect(kept.map(({ method, path }) => `${method} ${path}`).sort()).toEqual([
      'POST /v2/accounts/{account_id}/devices/{device_id}/quickcall/{number}',
      'POST /v2/accounts/{account_id}/users/{user_id}/quickcall/{number}',
      'PUT /v2/accounts/{account_id}/auth',
      'PUT /v2/accounts/{account_id}/users/{user_id}/auth',
      'PUT /v2/user_auth/recovery',
    ])
  })

  it('without a key is not sent again when it writes', () => {
    for (const method of ['PUT', 'POST', 'PATCH', 'DELETE'])
      expect(isRepeatable(method, 'http://x/v2/accounts', new Headers())).toBe(false)
  })

  it('waits as long as a server that is asked too much says, and not longer than its patience', async () => {
    const seen: string[] = []
    const busy = createServer((request, response) => {
      seen.push(`${request.method} ${request.headers['idempotency-key'] !== undefined}`)
      const isLast = seen.length > 2
      const body = { status: isLast ? 'success' : 'error', message: 'too_many_requests', data: {} }
      const headers = { 'content-type': 'application/json', ...(isLast ? {} : { 'retry-after': '1' }) }
      response.writeHead(isLast ? 201 : 429, headers).end(JSON.stringify(body))
    })
    await new Promise<void>((resolve) => busy.listen(0, '127.0.0.1', resolve))
    leaving.push(() => new Promise((resolve) => busy.close(resolve)))
    const address = busy.address()
    const server = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`

    const waits: Waiting[] = []
    const patient = createCrosspoint({ server, onWaiting: (waiting) => waits.push(waiting) })
    await patient.request({ method: 'PUT', path: '/v2/things', data: {} })
    expect(seen).toEqual(['PUT true', 'PUT true', 'PUT true'])
    expect(waits.map(({ why, ms }) => `${why} ${ms}`)).toEqual(['throttled 1000', 'throttled 1000'])
    seen.splice(0)
    const hasty = createCrosspoint({ server, patienceMs: 500 })
    const error = await errorOf(hasty.request({ path: '/v2/things' }))
    expect(error).toMatchObject({ status: 429, kind: 'too_many_requests', retryAfterSeconds: 1 })
    expect(seen).toHaveLength(1)
  })
})
