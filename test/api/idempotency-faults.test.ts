// Idempotency-Key while the store fails: the server stores no failure, no key stays in progress after its
// request has ended, and a repeated request gets the correct answer.
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { openDatabase, startServer } from '../../src/compose.ts'
import type { Json } from '../../src/lib/json.ts'
import type { Write } from '../../src/storage/db.ts'
import { eventually } from '../support/run/eventually.ts'
import { createTestLog } from '../support/run/log.ts'
import { type BookkeeperServer, startBookkeeper } from '../support/servers/bookkeeper-server.ts'
import { createFaults, says } from '../support/servers/faulty-database.ts'
import { type Answer, Client, createTransport } from '../support/world/client.ts'
import { describeEngines, type TestAccount, useWorld } from '../support/world/world.ts'

let bookkeeper: BookkeeperServer

beforeAll(async () => {
  bookkeeper = await startBookkeeper()
})

afterAll(() => bookkeeper.close())

describeEngines('an Idempotency-Key while the store fails', (engine) => {
  const faults = createFaults()
  const world = useWorld(
    engine,
    ({ configure }) => configure('services.http_sync', bookkeeper.settings),
    undefined,
    { over: faults.over },
  )
  const { state } = faults

  // Failures that were made on purpose are logged.
  afterEach(() => {
    faults.mend()
    bookkeeper.reset()
    world.takeErrors()
  })

  let keys = 0
  const freshKey = () => `key-${++keys}`

  const credit = (amount: number): Json => ({
    source: { service: 'payments', id: 'cash' },
    usage: { type: 'cash', quantity: 1, unit: 'note' },
    amount,
  })

  interface Wish {
    method: 'PUT' | 'POST'
    path: string
    data: Json
    envelope?: Json
  }

  /** Sends it with an idempotency key each time it is called. */
  const keyed = ({ method, path, data, envelope = {} }: Wish, key = freshKey()) => {
    const send = (client: Client) =>
      client.request(method, path, data, { headers: { 'idempotency-key': key }, envelope })
    return {
      key,
      send: () => send(world.ross),
      sendBy: send,
    }
  }

  const customer = () => world.account(world.reseller)

  /** A customer whose money a bookkeeper takes. */
  const payer = async () => {
    const account = await customer()
    await world.ross.post(`${account.path}/services`, { bookkeeper: { type: 'http' } })
    return account
  }

  const crediting = ({ path }: TestAccount): Wish => ({
    method: 'PUT',
    path: `${path}/ledgers/credit`,
    data: credit(5),
  })

  const total = async ({ path }: TestAccount) => (await world.ross.get(`${path}/ledgers/total`)).data.amount

  const rowOf = async (key: string) => {
    const [row] = await world.server.store.all(
      'SELECT holder, changes, answer FROM idempotency_keys WHERE idem_key = $1',
      [key],
    )
    return row
  }

  const unreachable = (answer: Answer) =>
    expect(answer).toFailWith(503, 'datastore_unreachable', { message: 'datastore unreachable' })

  /** The parts of an answer that must be the same; the parts about the request itself differ. */
  const told = ({ status, body, headers }: Answer) => {
    const { data, metadata, revision, message } = body
    return { status, data, metadata, revision, message, location: headers.location }
  }

  /** The shape of an answer: a request of the same kind without a failure has other ids. */
  const shapeOf = (answer: Answer) => ({ status: answer.status, keys: Object.keys(answer.data) })

  /** The first read after the commit of such a change fails. */
  const failReadAfter = (table: string) => {
    let isCommitted = false
    state.onWrite = (write) => {
      isCommitted ||= says(write, `INSERT INTO ${table}`)
      return undefined
    }
    state.onRead = (sql) => (isCommitted && sql.includes(`FROM ${table}`) ? 'refused' : undefined)
  }

  const loseCommit = (table: string) => {
    state.onWrite = (write) => (says(write, `INSERT INTO ${table}`) ? 'unheard' : undefined)
  }

  const writesNumber = (write: Write) => says(write, 'INSERT INTO numbers') || says(write, 'UPDATE numbers')

  const mishaps: [string, (table: string) => void][] = [
    ['a failure after its commit', failReadAfter],
    ['a commit without confirmation', loseCommit],
  ]

  for (const [mishap, happen] of mishaps) {
    it(`answers a credit correctly after ${mishap}`, async () => {
      const account = await customer()
      const { send } = keyed(crediting(account))
      happen('ledger_entries')
      unreachable(await send())
      faults.mend()
      const again = await send()
      const [entry] = (await world.ross.get(`${account.path}/ledgers/payments`)).data
      expect(again.status).toBe(201)
      expect(again.data).toEqual((await world.ross.get(`${account.path}/ledgers/payments/${entry.id}`)).data)
      expect((await send()).text).toBe(again.text)
      expect(await total(account)).toBe(5)
    })

    it(`answers a credit that moves the reseller's money too after ${mishap}`, async () => {
      const account = await customer()
      const wish = { ...crediting(account), envelope: { impact_reseller: true } }
      const other = await customer()
      const well = await keyed({ ...wish, path: `${other.path}/ledgers/credit` }).send()
      const { send } = keyed(wish)
      happen('ledger_entries')
      unreachable(await send())
      faults.mend()
      const again = await send()
      expect(again.status).toBe(well.status)
      expect(Object.keys(again.data).toSorted()).toEqual([account.id, world.reseller.id].toSorted())
      expect(again.data[account.id]).toEqual({
        ledger: { ...well.data[other.id].ledger, ...again.data[account.id].ledger },
        available_dollars: 5,
        is_reseller: false,
      })
      expect(again.data[world.reseller.id].is_reseller).toBe(true)
      expect(await total(account)).toBe(5)
    })

    it(`answers a top-up correctly after ${mishap}`, async () => {
      const account = await payer()
      const wish: Wish = { method: 'POST', path: `${account.path}/services/topup`, data: { amount: 12 } }
      const well = await keyed({ ...wish, path: `${(await payer()).path}/services/topup` }).send()
      const { send } = keyed(wish)
      happen('transactions')
      const first = await send()
      faults.mend()
      const again = await send()
      unreachable(first)
      expect(shapeOf(again)).toEqual(shapeOf(well))
      expect(again.data.transaction.status).toBe('completed')
      expect(await total(account)).toBe(12)
      const moved = [...bookkeeper.moved.values()].filter((move) => move.account === account.id)
      expect(moved).toHaveLength(1)
      expect((await send()).text).toBe(again.text)
    })

    it(`answers a sale and its refund correctly after ${mishap}`, async () => {
      const account = await payer()
      for (const kind of ['sale', 'refund']) {
        const wish: Wish = {
          method: 'PUT',
          path: `${account.path}/transactions/${kind}`,
          data: { amount: 7 },
        }
        const { send } = keyed(wish, freshKey())
        happen('transactions')
        unreachable(await send())
        faults.mend()
        const again = await send()
        expect(again.status).toBe(201)
        const { data } = await world.ross.get(`${account.path}/transactions/${again.data.id}`)
        expect(again.data).toEqual(data)
        expect(data.status).toBe('completed')
        expect(again.headers.location).toBe(`${account.path}/transactions/${data.id}`)
      }
      expect(await total(account)).toBe(0)
    })
  }

  it('answers limits correctly after a commit without confirmation', async () => {
    const { path } = await customer()
    const wish: Wish = { method: 'POST', path: `${path}/limits`, data: { twoway_trunks: 3 } }
    const { send } = keyed(wish)
    loseCommit('records')
    unreachable(await send())
    faults.mend()
    const again = await world.unchanged(send)
    expect(again.data.twoway_trunks).toBe(3)
    expect(told(again)).toEqual(told(await world.ross.get(wish.path)))
    expect((await send()).text).toBe(again.text)
  })

  it('answers a number correctly after a commit without confirmation', async () => {
    const { path } = await customer()
    const number = `${path}/phone_numbers/${encodeURIComponent('+14158870000')}`
    for (const step of ['', '/reserve', '/activate']) {
      const { sendBy } = keyed({ method: 'PUT', path: number + step, data: {} })
      state.onWrite = (write) => (writesNumber(write) ? 'unheard' : undefined)
      unreachable(await sendBy(world.operator))
      faults.mend()
      const again = await world.unchanged(() => sendBy(world.operator))
      expect(again.status).toBe(201)
      expect({ ...told(again), status: 200 }).toEqual(told(await world.operator.get(number)))
    }
  })

  it('repeats that money did not move, whatever the bookkeeper would answer now', async () => {
    const account = await payer()
    bookkeeper.state.manner = 'declines'
    const wish: Wish = { method: 'POST', path: `${account.path}/services/topup`, data: { amount: 12 } }
    const { send, key } = keyed(wish)
    const first = await send()
    expect(first).toFailWith(402, 'insufficient_funds', first.data)
    expect((await rowOf(key))?.answer).not.toBeNull()
    bookkeeper.reset()
    const again = await send()
    expect(told(again)).toEqual(told(first))
    expect(await total(account)).toBe(0)
  })

  it('returns the result of a pending payment once it is known', async () => {
    const account = await payer()
    bookkeeper.state.manner = 'mute'
    const wish: Wish = { method: 'POST', path: `${account.path}/services/topup`, data: { amount: 12 } }
    const { send } = keyed(wish)
    expect((await send()).status).toBe(202)
    bookkeeper.reset()
    const again = await send()
    expect(again.status).toBe(200)
    expect(again.data.transaction.status).toBe('completed')
    expect((await send()).text).toBe(again.text)
    expect(await total(account)).toBe(12)
  })

  it('repeats an answer that could not be stored, and stores it when the store works again', async () => {
    const account = await customer()
    const { send, key } = keyed(crediting(account))
    state.onWrite = (write) => (says(write, 'SET answer') ? 'refused' : undefined)
    const first = await send()
    expect(first.status).toBe(201)
    expect((await rowOf(key))?.answer).toBeNull()
    const again = await send()
    expect(again.text).toBe(first.text)
    expect(again.headers['idempotent-replayed']).toBe('true')
    const other = keyed({ ...crediting(account), data: credit(6) }, key)
    expect(await other.send()).toFailWith(409, 'idempotency_conflict', {
      message: 'Idempotency-Key was already used for a different request. Send a new key',
    })
    faults.mend()
    await eventually(
      () => rowOf(key),
      (row) => typeof row?.answer === 'string',
    )
    expect((await send()).text).toBe(first.text)
    expect(await total(account)).toBe(5)
  })

  it('frees the key of a refused request at once, and in the store when that listens', async () => {
    const account = await customer()
    const refused = keyed({
      ...crediting(account),
      data: { ...credit(5), source: { service: 'rollovers', id: 'by hand' } },
    })
    state.onWrite = (write) => (says(write, 'DELETE FROM idempotency_keys') ? 'refused' : undefined)
    expect((await refused.send()).status).toBe(400)
    expect((await refused.send()).status).toBe(400)
    faults.mend()
    await eventually(
      () => rowOf(refused.key),
      (row) => row === undefined,
    )
  })

  it('frees a key whose claim was committed without confirmation', async () => {
    const account = await customer()
    const { send } = keyed(crediting(account))
    state.onWrite = (write) => (says(write, 'INSERT INTO idempotency_keys') ? 'unheard' : undefined)
    unreachable(await send())
    faults.mend()
    expect((await send()).status).toBe(201)
    expect(await total(account)).toBe(5)
  })

  /** Another server of the same store, and a caller at it. */
  const atOther = async (act: (client: Client) => Promise<void>, theirs = createFaults()) => {
    const db = theirs.over(await openDatabase(world.config))
    const other = await startServer(world.config, { clock: world.clock, log: createTestLog().log }, { db })
    const transport = createTransport(other.port)
    try {
      await act(new Client(transport.send, { 'x-auth-token': world.ross.token }))
    } finally {
      transport.close()
      await other.stop()
    }
  }

  const isUnderWay = (answer: Answer) => {
    expect(answer).toFailWith(409, 'idempotency_conflict', {
      message: 'a request with this Idempotency-Key is still running. Retry after 1 second',
    })
    expect(answer.headers['retry-after']).toBe('1')
  }

  /** Holds a write back until it is let go. */
  const holdBack = (part: string, at = state) => {
    const gate = Promise.withResolvers<undefined>()
    const reached = Promise.withResolvers<void>()
    at.onWrite = (write) => {
      if (!says(write, part)) return undefined
      reached.resolve()
      return gate.promise
    }
    return { reached: reached.promise, open: () => gate.resolve(undefined) }
  }

  it('reports in every process that the first request is in progress, however long it takes', async () => {
    const account = await customer()
    const { send, sendBy, key } = keyed(crediting(account))
    const held = holdBack('INSERT INTO ledger_entries')
    const first = send()
    await held.reached
    isUnderWay(await send())
    await atOther(async (other) => {
      isUnderWay(await sendBy(other))
      for (let step = 0; step < 3; step += 1) {
        const until = async () => JSON.parse(String((await rowOf(key))?.holder)).until as number
        const before = await until()
        world.clock.advance({ seconds: 3 })
        await eventually(until, (now) => now > before)
        isUnderWay(await sendBy(other))
      }
      isUnderWay(await send())
      held.open()
      expect((await first).status).toBe(201)
      expect((await sendBy(other)).text).toBe((await first).text)
    })
    expect(await total(account)).toBe(5)
  })

  it('lets another process continue after some seconds of silence, and the late request fails', async () => {
    const account = await customer()
    const { send, sendBy } = keyed(crediting(account))
    const held = holdBack('INSERT INTO ledger_entries')
    const first = sendBy(world.unchecked(world.ross))
    await held.reached
    await atOther(async (other) => {
      isUnderWay(await sendBy(other))
      const { onWrite } = state
      state.onWrite = (write) => (says(write, 'SET holder') ? 'refused' : onWrite(write))
      world.clock.advance({ seconds: 5 })
      const taken = await sendBy(other)
      expect(taken.status).toBe(201)
      held.open()
      expect((await first).status).toBe(503)
      expect((await send()).text).toBe(taken.text)
    })
    expect(await total(account)).toBe(5)
  })

  it('looks at what was committed only when nothing more can be', async () => {
    const account = await customer()
    const { send, sendBy } = keyed(crediting(account))
    const theirs = createFaults()
    await atOther(async (other) => {
      const commit = holdBack('INSERT INTO ledger_entries')
      const first = send()
      await commit.reached
      state.onWrite = (write) =>
        says(write, 'SET holder') || says(write, 'SET answer') ? 'refused' : undefined
      world.clock.advance({ seconds: 5 })
      // It saw nothing committed, and takes over only after a commit.
      const takingOver = holdBack('SET token', theirs.state)
      const second = sendBy(other)
      await takingOver.reached
      commit.open()
      expect((await first).status).toBe(201)
      takingOver.open()
      expect(told(await second)).toEqual(told(await first))
    }, theirs)
    expect(await total(account)).toBe(5)
  })

  it('remembers what each commit of a request did', async () => {
    const account = await customer()
    const numbers = Array.from({ length: 250 }, (_, index) => `+1415886${String(index).padStart(4, '0')}`)
    const wish: Wish = { method: 'PUT', path: `${account.path}/phone_numbers/collection`, data: { numbers } }
    const { sendBy, key } = keyed(wish)
    expect((await sendBy(world.operator)).status).toBe(201)
    const lists = String((await rowOf(key))?.changes).split('\n')
    expect(lists.length).toBeGreaterThan(1)
    const ids = lists.flatMap((list) => JSON.parse(list)).map(({ id }: { id: string }) => id)
    expect(ids.toSorted()).toEqual(numbers)
  })
})
