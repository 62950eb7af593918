// In any history, every charge is what a user agreed to, every order of a carrier belongs to a number that an
// account has or that was given back, and ledgers add up. Plans change their prices, several clients ask at
// once, the carrier refuses, breaks or does not answer, and the server is killed.
import { once } from 'node:events'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Json } from '../../src/lib/json.ts'
import type { Database } from '../../src/storage/db.ts'
import { openPostgres } from '../../src/storage/postgres.ts'
import { openSqlite } from '../../src/storage/sqlite.ts'
import { createChance, seed } from '../fuzz/chance.ts'
import { eventually } from '../support/run/eventually.ts'
import { describeEngines, makePlace, type Place } from '../support/servers/databases.ts'
import { type Inventory, startInventory } from '../support/servers/inventory-server.ts'
import { type ServerProcess, startServerProcess } from '../support/servers/server-process.ts'
import type { Answer } from '../support/world/client.ts'
import { createNumberSource } from '../support/world/numbers.ts'
import { freeRequests, openSession, type Session } from '../support/world/session.ts'

const rounds = 6
const atOnce = 5
const perWorker = 5

interface EntryRow {
  account_id: string
  id: string
  source_id: string
  amount: number
  doc: string
}

interface AuditRow {
  account_id: string
  doc: string
}

const requestOf = ({ source_id: source }: EntryRow) => source.split('/')[0] as string

const refusal = ({ data }: { data: { numbers: string[] } }) =>
  Object.fromEntries(data.numbers.map((number) => [number, { status: 'error', message: 'taken' }]))

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0)

describeEngines('histories of money', (engine) => {
  let place: Place
  let inventory: Inventory
  let server: ServerProcess
  let session: Session
  let reseller: string
  let customer: string
  let customerToken: string
  let plan: string
  const next = createNumberSource('+1510888')
  const { below, pick, once: oneIn } = createChance(seed)
  /** The numbers that each request bought, and the numbers that were given back by hand. */
  const bought = new Map<string, string>()
  const givenUp = new Set<string>()
  let asked = 0
  let done = 0
  let restarted = Promise.resolve()

  const begin = async (known?: Session) => {
    server = await startServerProcess({ CROSSPOINT_DATABASE_URL: place.databaseUrl }, place.dataDir)
    known?.close()
    session = await openSession(server, known)
  }

  const pricesOf = (activation: number, rate: number) => ({
    name: 'Everything',
    plan: {
      phone_numbers: { _all: { rate, activation_charge: activation } },
      devices: {
        sip_device: { rate, activation_charge: activation, discounts: { cumulative: { maximum: 2, rate } } },
      },
      users: {
        user: { rate, prorate: { additions: true, removals: true }, taxes: [{ name: 'VAT', rate: 19 }] },
      },
    },
  })

  const must = async (asking: Promise<Answer>) => {
    const answer = await asking
    if (answer.status >= 300) throw new Error(answer.text)
    return answer.data
  }

  beforeAll(async () => {
    place = await makePlace(engine, { isUpgraded: engine === 'postgres' })
    inventory = await startInventory()
    inventory.sellEverything()
    await begin()
    await freeRequests(session)
    const { admin, masterId } = session
    const settings = '/v2/system_configs/number_manager'
    await must(admin.put(settings, { default: { carrier_modules: ['knm_other'] } }))
    await must(admin.put(`${settings}.other`, { default: { phonebook_url: inventory.url } }))
    const shop = await must(admin.put(`/v2/accounts/${masterId}`, { name: 'Shop', realm: 'shop.test' }))
    reseller = `/v2/accounts/${shop.id}`
    await must(admin.put(`${reseller}/reseller`, {}))
    const { id } = await must(admin.put(reseller, { name: 'Buyer', realm: 'buyer.test' }))
    customer = `/v2/accounts/${id}`
    plan = (await must(admin.put(`${reseller}/service_plans`, pricesOf(1, 2)))).id
    await must(admin.post(`${customer}/services`, { add: [plan] }))
    const key = await must(admin.get(`${customer}/api_key`))
    const login = await admin.put('/v2/api_auth', { api_key: key.api_key })
    customerToken = login.body.auth_token as string
    await credit(50)
  })

  afterAll(async () => {
    session.close()
    await server.end()
    await inventory.close()
    await place.remove()
  })

  const withStore = async <T>(act: (db: Database) => Promise<T>): Promise<T> => {
    const { databaseUrl, dataDir } = place
    const db = databaseUrl ? openPostgres(databaseUrl) : openSqlite(join(dataDir, 'crosspoint.db'))
    try {
      return await act(db)
    } finally {
      await db.close()
    }
  }

  const credit = (amount: number) =>
    session.admin.put(`${customer}/ledgers/credit`, {
      source: { service: 'payments', id: `credit ${++asked}` },
      usage: { type: 'cash', quantity: 1, unit: 'note' },
      amount,
    })

  /** Asks as the customer does: once for the price, and again with its consent. Answers with the agreed request's id. */
  const buy = async (path: string, data: Json): Promise<string | undefined> => {
    const who = session.as(customerToken)
    const mark = ++asked
    const first = await who.put(path, data, { headers: { 'x-request-id': `asked-${mark}` } })
    if (first.status !== 402) return first.status < 300 ? `asked-${mark}` : undefined
    const id = `agreed-${mark}`
    if (path.includes('/phone_numbers/')) bought.set(decodeURIComponent(path.split('/').at(-2) as string), id)
    const query = { accept_charges: true }
    await who.put(path, data, { query, headers: { 'x-request-id': id } })
    return id
  }

  const buyNumber = async () => {
    const number = next()
    inventory.answer('GET /numbers/US/search', { [number]: {} })
    await session.as(customerToken).get(`${customer}/phone_numbers`, { query: { prefix: '510888' } })
    // A carrier may refuse an order. One that does not take a number back has it handed out, whatever is done here.
    if (oneIn(5)) inventory.answer('PUT /numbers/US/order', refusal)
    else inventory.sellEverything()
    inventory.behave(pick(['works', 'works', 'works', 'breaks', 'mute', 'fails']))
    await buy(`${customer}/phone_numbers/${encodeURIComponent(number)}/activate`, {})
  }

  const dropNumber = async () => {
    const { data } = await session.admin.get(`${customer}/phone_numbers`)
    const settled = Object.entries<{ pending?: true }>(data.numbers).filter(([, { pending }]) => !pending)
    const [number] = settled[below(settled.length)] ?? []
    if (number === undefined) return
    givenUp.add(number)
    await session.admin.delete(`${customer}/phone_numbers/${encodeURIComponent(number)}`)
  }

  const dropUser = async () => {
    const { data } = await session.admin.get(`${customer}/users`)
    const [user] = data as { id: string }[]
    if (user) await session.admin.delete(`${customer}/users/${user.id}`)
  }

  const steps = [
    buyNumber,
    buyNumber,
    () => buy(`${customer}/devices`, { name: `Phone ${asked}` }),
    () => buy(`${customer}/devices`, { name: `Phone ${asked}` }),
    () => buy(`${customer}/users`, { first_name: 'A', last_name: 'B' }),
    dropNumber,
    dropUser,
    () =>
      session.admin.post(`${reseller}/service_plans/${plan}`, pricesOf(below(40_000) / 10_000, below(30))),
    () => credit(1 + below(30)),
  ]

  /** A few at once; what a server that dies is asked has no answer, and what follows waits for the next. */
  const trouble = () =>
    Promise.all(
      Array.from({ length: atOnce }, async () => {
        for (let step = 0; step < perWorker; step += 1) {
          await restarted
          await pick(steps)().catch(() => undefined)
          done += 1
        }
      }),
    )

  const restart = async () => {
    server.process.kill('SIGKILL')
    await once(server.process, 'exit')
    inventory.letGo()
    inventory.behave('works')
    await begin(session)
  }

  const kill = () => {
    restarted = restart()
    return restarted
  }

  /** All open transactions end. */
  const settle = async () => {
    inventory.letGo()
    inventory.behave('works')
    inventory.sellEverything()
    const hurry = "UPDATE work SET due_at = 0 WHERE state = 'waiting' AND kind LIKE 'number%'"
    await withStore((db) => db.write({ statements: [{ sql: hurry, params: [] }], stale: [] }))
    await kill()
    await eventually(
      () => withStore((db) => db.scan("SELECT id FROM work WHERE state = 'waiting' AND kind LIKE 'number%'")),
      (left) => left.length === 0,
    )
  }

  it('end with charges that were agreed to, orders that belong to numbers, and ledgers that add up', {
    timeout: 300_000,
  }, async () => {
    for (let round = 0; round < rounds; round += 1) {
      const until = done + below(atOnce * perWorker)
      const running = trouble()
      if (oneIn(2)) {
        await eventually(
          () => done,
          (count) => count >= until,
        )
        await kill()
      }
      await running
    }
    await settle()

    const { data } = await session.admin.get(`${customer}/phone_numbers`, { query: { page_size: 500 } })
    const owned = Object.keys(data.numbers).sort()
    expect(inventory.handedOut()).toEqual(owned)

    const [entries, audits, uneven, balances] = await withStore((db) =>
      Promise.all([
        db.scan<EntryRow>(
          `SELECT account_id, id, source_id, amount, doc FROM ledger_entries
            WHERE source_service IN ('services', 'prorations', 'taxes')`,
        ),
        db.scan<AuditRow>('SELECT account_id, doc FROM service_audit'),
        db.scan('SELECT entry_id FROM ledger_postings GROUP BY account_id, entry_id HAVING sum(amount) <> 0'),
        db.scan(
          `SELECT b.account_id FROM ledger_balances b WHERE b.units <> (SELECT coalesce(sum(e.amount), 0)
            FROM ledger_entries e WHERE e.account_id = b.account_id AND e.source_service <> 'rollovers')`,
        ),
      ]),
    )
    expect(uneven).toEqual([])
    expect(balances).toEqual([])
    expect(entries.length).toBeGreaterThan(0)

    const ofRequest = Map.groupBy(entries, requestOf)
    const agreedTo = Map.groupBy(
      audits.map(({ doc }) => JSON.parse(doc) as Json & { audit: Json; invoice: Json }),
      ({ audit }) => (audit.request as { id?: string } | undefined)?.id ?? '',
    )
    for (const [request, lines] of ofRequest) {
      const charges = lines.filter(({ doc }) => !(JSON.parse(doc) as Json).givesBack)
      const shown = (agreedTo.get(request) ?? []).map(
        ({ invoice }) => (invoice.summary as { today: number }).today,
      )
      expect([request, sum(charges.map(({ amount }) => -amount))]).toEqual([
        request,
        Math.round(sum(shown) * 10_000),
      ])
      // A price that is only shown costs nothing; a removal may give something back.
      if (sum(charges.map(({ amount }) => amount)) < 0) expect(request).toMatch(/^agreed-/)
      expect(sum(lines.map(({ amount }) => amount))).toBeLessThanOrEqual(
        Math.max(0, sum(charges.map(({ amount }) => amount))),
      )
    }
    for (const [number, request] of bought) {
      if (owned.includes(number) || givenUp.has(number)) continue
      const lines = ofRequest.get(request) ?? []
      expect([number, sum(lines.map(({ amount }) => amount))]).toEqual([number, 0])
    }
  })
})
