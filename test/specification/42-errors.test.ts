// Errors: each is provoked by a real request, compared whole, and shown to change nothing.
import { describe, expect, it } from 'vitest'
import { version } from '../../src/version.ts'
import { type Inventory, startInventory } from '../support/servers/inventory-server.ts'
import { mailsTo } from '../support/servers/outbox.ts'
import type { Answer, RequestOptions } from '../support/world/client.ts'
import { allowAdditions, createNumberSource, makeNumber, pathOf } from '../support/world/numbers.ts'
import { passing } from '../support/world/throttled.ts'
import { credentialsOf, describeAnyEngine, type Person, useWorld } from '../support/world/world.ts'

describeAnyEngine('Errors', (engine) => {
  const world = useWorld(engine, allowAdditions)
  const next = createNumberSource()

  const everywhere = () => ({
    status: 'error',
    metadata: {},
    request_id: expect.stringMatching(/^[0-9a-f]{32}$/),
    node: expect.any(String),
    timestamp: '2026-01-05T12:00:00.000Z',
  })

  interface Expected {
    status: number
    message: string
    data: unknown
    metadata?: object
  }

  const bodyOf = ({ status, ...rest }: Expected) => ({ ...everywhere(), error: String(status), ...rest })

  /** Shows that a request with a token fails in this way, with nothing else in the envelope. */
  const expectFailure = (answer: Answer, by: Person, expected: Expected) => {
    expect([answer.status, answer.body]).toEqual([
      expected.status,
      {
        ...bodyOf(expected),
        auth_token: by.token,
        version,
        tokens: { consumed: 0, remaining: 100 },
      },
    ])
  }

  /** The same, and that the request changes nothing. */
  const expectRefusal = async (by: Person, ask: (by: Person) => Promise<Answer>, expected: Expected) =>
    expectFailure(await world.unchanged(() => ask(by)), by, expected)

  it('HTTP status equal to `error`; status, message, data, request_id, auth_token', async () => {
    const answer = await world.ada.get(`${world.acme.path}/alerts/nothing`)
    expect(String(answer.status)).toBe(answer.body.error)
    expect(answer.body).toMatchObject({
      status: 'error',
      error: '404',
      message: 'bad_identifier',
      data: { message: 'bad identifier', cause: 'nothing' },
      request_id: answer.headers['x-request-id'],
      auth_token: world.ada.token,
    })
  })

  describe('401 `invalid_credentials`', () => {
    const data = { message: 'invalid credentials' }

    it('missing or invalid credentials', async () => {
      const wrong = { credentials: credentialsOf('uli', 'guessed'), account_name: 'Acme' }
      const answers = await world.unchanged(async () => [
        await world.anonymous.get(world.acme.path),
        await world.clientWithToken('not-a-token').get(world.acme.path),
      ])
      for (const { status, body } of answers)
        expect([status, body]).toEqual([401, bodyOf({ status: 401, message: 'invalid_credentials', data })])
      const signIn = await world.unchanged(() => world.anonymous.put('/v2/user_auth', wrong))
      expect(signIn).toFailWith(401, 'invalid_credentials', data)
    })
  })

  describe('400', () => {
    it('`invalid data`: POST of system whitelabel domains when the domains schema is missing', () =>
      expectRefusal(world.operator, (by) => by.post('/v2/whitelabel/domains', {}), {
        status: 400,
        message: 'invalid data',
        data: {
          domains: {
            required: { message: 'The domains schema is missing, unable to validate request' },
          },
        },
      }))

    it('`validation error`: wrong email verification code; metadata of the email; a new code is sent', async () => {
      const { ross, reseller } = world
      const email = 'help@reseller.test'
      const sent = async () => {
        await world.deliverMail()
        return (await mailsTo(world.place.dataDir, email)).length
      }
      const put = await ross.put(`${reseller.path}/whitelabel/emails`, { email })
      const place = `${reseller.path}/whitelabel/emails/${put.body.metadata.id}`
      expect(await sent()).toBe(1)
      // No code begins with 0.
      expectFailure(await ross.post(`${place}/verify`, { code: '0000' }), ross, {
        status: 400,
        message: 'validation error',
        data: { code: { invalid: { message: 'Invalid verification code: a new code was sent' } } },
        metadata: put.body.metadata,
      })
      expect(await sent()).toBe(2)
      expect((await ross.get(place)).body.metadata.verified).toBe(false)
    })
  })

  describe('500 `invalid request`', () => {
    const message = 'invalid request'
    const importing = { category: 'rates', action: 'import' }
    const csv = (body: string): RequestOptions => ({
      query: importing,
      headers: { 'content-type': 'text/csv' },
      body,
    })
    const put = (body: string) => (by: Person) => by.put('/v2/tasks', undefined, csv(body))
    const putRecords = (records: object[]) => (by: Person) =>
      by.put('/v2/tasks', { records }, { query: importing })

    it.each(['category=unheard-of', 'category=rates&action=unheard-of'])(
      'GET /v2/tasks with unknown category or action: %s',
      (query) =>
        expectRefusal(world.ada, (by) => by.get(`/v2/tasks?${query}`), {
          status: 500,
          message,
          data: { message },
        }),
    )

    it.each([
      ['empty CSV', ''],
      ['header missing', '1,0.1'],
      ['rows of unequal length', 'prefix,rate_cost\n1,0.1,2\n'],
    ])('task input: %s', (_what, body) =>
      expectRefusal(world.operator, put(body), {
        status: 500,
        message,
        data: {
          csv: { format: { message: 'Empty CSV or some row(s) longer than others or header missing' } },
        },
      }),
    )

    const attachment = (type: object) => ({ status: 500, message, data: { attachment: { type } } })

    it('task input with an unknown field name', async () => {
      const unknown = attachment({ unknown_fields: ['colour'] })
      await expectRefusal(world.operator, put('prefix,rate_cost,colour\n1,0.1,red\n'), unknown)
      const records = [{ prefix: 1, rate_cost: 0.1, colour: 'red' }]
      await expectRefusal(world.operator, putRecords(records), unknown)
    })

    it('task input lacking required fields', async () => {
      const lacking = attachment({ missing_mandatory_fields: ['prefix', 'rate_cost'] })
      await expectRefusal(world.operator, put('weight\n1\n'), lacking)
      await expectRefusal(world.operator, putRecords([{ weight: 1 }]), lacking)
    })

    it('rows or records with empty values for required fields', async () => {
      const csvRows = attachment({ missing_mandatory_values: [',0.2'] })
      await expectRefusal(world.operator, put('prefix,rate_cost\n1,0.1\n,0.2\n'), csvRows)
      const records = [
        { prefix: 1, rate_cost: 0.1 },
        { prefix: '', rate_cost: 0.2 },
      ]
      const rows = attachment({ missing_mandatory_values: ['"",0.2'] })
      await expectRefusal(world.operator, putRecords(records), rows)
    })
  })

  describe('404 of tasks', () => {
    const id = '0'.repeat(32)
    const tasks = () => `${world.acme.path}/tasks`
    const newTask = async () => {
      const query = { category: 'number_management', action: 'list' }
      const made = await world.ada.put(tasks(), undefined, { query })
      return String(made.body.metadata.id)
    }

    it.each([
      ['category=unheard-of&action=list', 'unheard-of'],
      ['category=rates&action=unheard-of', 'unheard-of'],
    ])('`bad identifier`: unknown category or action on PUT tasks: %s', (query, value) =>
      expectRefusal(world.ada, (by) => by.put(`${tasks()}?${query}`), {
        status: 404,
        message: 'bad identifier',
        data: [value],
      }),
    )

    it.each(['GET', 'DELETE'])('`bad identifier`: unknown task on %s', (method) =>
      expectRefusal(world.ada, (by) => by.request(method, `${tasks()}/${id}`), {
        status: 404,
        message: 'bad identifier',
        data: [id],
      }),
    )

    const missing = (cause: string, reason?: string) => ({
      status: 404,
      message: 'bad_identifier',
      data: { message: 'bad identifier', cause, ...(reason ? { reason } : {}) },
    })

    it.each(['', '/stop'])('`bad_identifier`: task not found on PATCH %s', (rest) =>
      expectRefusal(world.ada, (by) => by.patch(`${tasks()}/${id}${rest}`), missing(id, 'task not found')),
    )

    it('`bad_identifier`: task running on DELETE, already started on PATCH', async () => {
      await world.configure('tasks', { max_running: 0 })
      const running = await newTask()
      const path = `${tasks()}/${running}`
      await world.ada.patch(path)
      await expectRefusal(world.ada, (by) => by.delete(path), missing(running, 'task is running'))
      await expectRefusal(world.ada, (by) => by.patch(path), missing(running, 'task already started'))
      await world.ada.patch(`${path}/stop`)
      await world.configure('tasks', { max_running: 4 })
    })

    it('`bad_identifier`: not running on stop', async () => {
      const waiting = await newTask()
      const stop = (by: Person) => by.patch(`${tasks()}/${waiting}/stop`)
      await expectRefusal(world.ada, stop, missing(waiting, 'task is not running'))
    })

    it('`bad_identifier`: no input or output for a task', async () => {
      const waiting = await newTask()
      for (const file of ['input', 'output'])
        await expectRefusal(world.ada, (by) => by.get(`${tasks()}/${waiting}/${file}`), missing(waiting))
    })
  })

  describe('of numbers', () => {
    it('404 `bad_identifier`: number not in the account or absent', async () => {
      const [elsewhere, absent] = [next(), next()]
      await makeNumber(world, world.rival, elsewhere)
      for (const number of [elsewhere, absent])
        await expectRefusal(world.ross, (by) => by.get(pathOf(world.reseller, number)), {
          status: 404,
          message: 'bad_identifier',
          data: {
            message: 'bad identifier',
            not_found: 'The number could not be found',
            cause: number,
          },
        })
    })

    it('409 `number_exists`: PUT of an existing number', async () => {
      const number = next()
      const path = await makeNumber(world, world.reseller, number)
      await expectRefusal(world.ross, (by) => by.put(path), {
        status: 409,
        message: 'number_exists',
        data: {
          code: 409,
          error: 'number_exists',
          message: `number ${number} already exists`,
          cause: number,
        },
      })
    })

    it('404 (data.code 400) `not_reconcilable`: number not in E.164 form', () =>
      expectRefusal(world.ross, (by) => by.put(pathOf(world.reseller, '123_&')), {
        status: 404,
        message: 'not_reconcilable',
        data: {
          code: 400,
          error: 'not_reconcilable',
          message: 'number 123_& is not reconcilable',
          cause: '123_&',
        },
      }))

    it('403 `forbidden`: requester may not create a number in the requested state', () => {
      const fields = { create_with_state: 'available' }
      return expectRefusal(world.ross, (by) => by.put(pathOf(world.reseller, next()), fields), {
        status: 403,
        message: 'forbidden',
        data: {
          code: 403,
          error: 'forbidden',
          message: 'requestor is unauthorized to perform operation',
          cause: "creating number in state 'available' is not allowed",
        },
      })
    })
  })

  describe('500 `init failed`', () => {
    const failed = (data: unknown) => ({ status: 500, message: 'init failed', data })
    const prefixOf = (city: string) => (by: Person) =>
      by.get(`${world.acme.path}/phone_numbers/prefix`, { query: { city } })

    const withInventory = async (work: (inventory: Inventory) => Promise<void>) => {
      const inventory = await startInventory()
      await world.configure('crossbar.phone_numbers', { phonebook_url: inventory.url })
      await work(inventory)
      await world.configure('crossbar.phone_numbers', { phonebook_url: undefined, default_country: 'US' })
      await inventory.close()
    }

    it('locality or prefix operation when the inventory service is not configured', async () => {
      const locality = (by: Person) =>
        by.post(`${world.acme.path}/phone_numbers/locality`, { numbers: ['+14155550100'] })
      await expectRefusal(world.ada, locality, failed('could not get locality url'))
      const message = 'Unable to acquire numbers missing carrier url'
      await expectRefusal(world.ada, prefixOf('Berkeley'), failed(message))
    })

    it('country or city not found: a nested not-found object', () =>
      withInventory(async (inventory) => {
        const notFound = failed({ status: 'error', error: 404, message: 'Not Found', data: {} })
        await expectRefusal(world.ada, prefixOf('Nowhere'), notFound)
        inventory.answer('GET /US/city', { Berkeley: { state: 'CA', prefixes: ['510'] } })
        expect(await prefixOf('Berkeley')(world.ada)).toSucceed()
        await world.configure('crossbar.phone_numbers', { default_country: 'ZZ' })
        await expectRefusal(world.ada, prefixOf('Berkeley'), notFound)
      }))
  })

  it('429: token bucket empty', async () => {
    // The bucket of an account that no other test uses.
    const account = await world.account(world.reseller)
    const [admin, user] = [await world.admin(account), await world.user(account)]
    await world.configure('crossbar', { token_costs: 1 })
    await passing(() => admin.get(user.path))
    const answer = await world.unchanged(() => admin.delete(user.path))
    await world.configure('crossbar', { token_costs: 0 })
    expect([answer.status, answer.body]).toEqual([
      429,
      {
        ...bodyOf({ status: 429, message: 'too_many_requests', data: { message: 'too many requests' } }),
        auth_token: admin.token,
        version,
      },
    ])
  })
})
