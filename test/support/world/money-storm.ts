// Many money writes at once, while the server is killed again and again and the bookkeeper's answers get lost.
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Json } from '../../../src/lib/json.ts'
import { openPostgres } from '../../../src/storage/postgres.ts'
import { openSqlite } from '../../../src/storage/sqlite.ts'
import { eventually } from '../run/eventually.ts'
import { type BookkeeperServer, type Manner, startBookkeeper } from '../servers/bookkeeper-server.ts'
import { type ServerProcess, startServerProcess } from '../servers/server-process.ts'
import type { Answer } from './client.ts'
import { freeRequests, openSession, type Session } from './session.ts'

export interface StormPlace {
  dataDir: string
  databaseUrl: string | undefined
}

export interface Storm {
  writes: number
  kills: number
  clients: number
  /** 0..1, a new value on each call. */
  chance(): number
}

/** One write that a client wants to happen once. */
interface Wish {
  key: string
  kind: 'topup' | 'sale' | 'credit' | 'debit'
  /** Units. */
  amount: number
}

interface Granted extends Wish {
  answer: Answer
}

const kinds = ['topup', 'sale', 'credit', 'debit'] as const
// More than all debits together take.
const stockDollars = 50_000_000

const wishes = ({ writes, chance }: Storm): Wish[] =>
  Array.from({ length: writes }, (_, index) => ({
    key: `wish-${index}`,
    kind: kinds[Math.floor(chance() * kinds.length)] as Wish['kind'],
    amount: 1 + Math.floor(chance() * 1_000_000),
  }))

const requestFor = ({ kind, amount, key }: Wish): [method: 'POST' | 'PUT', path: string, data: Json] => {
  const dollars = amount / 10_000
  if (kind === 'topup') return ['POST', 'services/topup', { amount: dollars }]
  if (kind === 'sale') return ['PUT', 'transactions/sale', { amount: dollars }]
  const usage = { type: 'storm', quantity: 1, unit: 'wish' }
  return ['PUT', `ledgers/${kind}`, { source: { service: 'storm', id: key }, usage, amount: dollars }]
}

const isSettled = ({ status }: Answer) => status === 200 || status === 201 || status === 202

/** The current server; it may die at any time. */
const createServers = (place: StormPlace) => {
  let server: ServerProcess
  let session: Session | undefined
  const open = async () => {
    server = await startServerProcess({ CROSSPOINT_DATABASE_URL: place.databaseUrl }, place.dataDir)
    session?.close()
    session = await openSession(server, session)
    return session
  }
  return {
    open,
    session: () => session as Session,
    async kill() {
      server.process.kill('SIGKILL')
      await once(server.process, 'exit')
      await open()
    },
    async end() {
      session?.close()
      return server.end()
    },
  }
}

const losing = (chance: Storm['chance']) => (): Manner => {
  const luck = chance()
  if (luck < 0.1) return 'mute'
  if (luck < 0.15) return 'deaf'
  return luck < 0.2 ? 'breaks' : 'works'
}

const prepare = async ({ admin, masterId }: Session, bookkeeper: BookkeeperServer) => {
  const settings = { ...bookkeeper.settings, timeout_ms: 300 }
  await admin.put('/v2/system_configs/services.http_sync', { default: settings })
  const { data } = await admin.put(`/v2/accounts/${masterId}`, { name: 'Stormy' })
  await admin.post(`/v2/accounts/${data.id}/services`, { bookkeeper: { type: 'http' } })
  const stock = {
    source: { service: 'stock', id: '1' },
    usage: { type: 'stock', quantity: 1, unit: 'stock' },
  }
  const given = await admin.put(`/v2/accounts/${data.id}/ledgers/credit`, { ...stock, amount: stockDollars })
  if (given.status !== 201) throw new Error(given.text)
  return data.id as string
}

/** Ledger entries afterwards. */
export interface Aftermath {
  balance: number
  expectedBalance: number
  /** Entries for money that moved at the bookkeeper, and what moved there. */
  booked: string[]
  moved: string[]
  entries: number
  expectedEntries: number
  uneven: unknown[]
  open: number
  /** Answers to the same keys that differ from the first ones. */
  differing: string[]
  seconds: number
  repeats: number
}

const ask = async <T>({ dataDir, databaseUrl }: StormPlace, sql: string): Promise<T[]> => {
  const db = databaseUrl ? openPostgres(databaseUrl) : openSqlite(join(dataDir, 'crosspoint.db'))
  try {
    return await db.scan<T>(sql)
  } finally {
    await db.close()
  }
}

export const rage = async (place: StormPlace, storm: Storm): Promise<Aftermath> => {
  const bookkeeper = await startBookkeeper()
  const servers = createServers(place)
  const first = await servers.open()
  await freeRequests(first)
  const accountId = await prepare(first, bookkeeper)
  bookkeeper.state.manner = losing(storm.chance)
  const waiting = wishes(storm)
  const granted: Granted[] = []
  let repeats = 0
  const begun = performance.now()

  const send = async (wish: Wish): Promise<Answer | undefined> => {
    const [method, path, data] = requestFor(wish)
    try {
      const headers = { 'idempotency-key': wish.key }
      return await servers
        .session()
        .admin.request(method, `/v2/accounts/${accountId}/${path}`, data, { headers })
    } catch {
      // The server died over it.
      return undefined
    }
  }

  const insist = async (wish: Wish): Promise<Answer> => {
    for (;;) {
      const answer = await send(wish)
      if (answer && isSettled(answer)) return answer
      if (answer && answer.status !== 409 && answer.status < 500) throw new Error(answer.text)
      repeats += 1
      await pause(50)
    }
  }

  const client = async () => {
    for (let wish = waiting.shift(); wish; wish = waiting.shift())
      granted.push({ ...wish, answer: await insist(wish) })
  }

  const killer = async () => {
    const share = storm.writes / (storm.kills + 1)
    for (let kill = 1; kill <= storm.kills; kill += 1) {
      await eventually(
        () => granted.length,
        (done) => done >= share * kill,
        600_000,
      )
      await pause(storm.chance() * 100)
      await servers.kill()
    }
  }

  const openCount = async () => {
    const sql = "SELECT count(*) AS open FROM transactions WHERE status IN ('pending', 'unknown')"
    const [row] = await ask<{ open: number }>(place, sql)
    return Number(row?.open)
  }

  const differing = async () => {
    const wrong: string[] = []
    // Payments that were in progress then have ended since.
    const final = granted.filter(({ answer }) => answer.status !== 202)
    for (const { answer, ...wish } of final.filter((_, index) => index % 10 === 0)) {
      const again = await insist(wish)
      if (again.text !== answer.text) wrong.push(`${answer.text}\n${again.text}`)
    }
    return wrong
  }

  await Promise.all([killer(), ...Array.from({ length: storm.clients }, client)])
  bookkeeper.state.manner = 'works'
  const open = await eventually(openCount, (count) => count === 0, 120_000)
  const wrong = await differing()
  const seconds = (performance.now() - begun) / 1000
  if ((await servers.end()) !== 0) throw new Error('the server did not end well')

  const entries = await ask<{ source_service: string; source_id: string; amount: number }>(
    place,
    `SELECT source_service, source_id, amount FROM ledger_entries WHERE account_id = '${accountId}'
      AND source_service <> 'rollovers'`,
  )
  const [balance] = await ask<{ units: number }>(
    place,
    `SELECT units FROM ledger_balances WHERE account_id = '${accountId}'`,
  )
  const uneven = await ask(
    place,
    'SELECT entry_id FROM ledger_postings GROUP BY account_id, entry_id HAVING sum(amount) <> 0 OR count(*) <> 2',
  )
  await bookkeeper.close()
  const sign = ({ kind }: Wish) => (kind === 'debit' ? -1 : 1)
  return {
    balance: Number(balance?.units),
    expectedBalance: granted.reduce((sum, wish) => sum + sign(wish) * wish.amount, stockDollars * 10_000),
    booked: entries
      .filter(({ source_service: service }) => service === 'payments')
      .map(({ source_id: id, amount }) => `${accountId}/${id} ${amount}`)
      .toSorted(),
    moved: [...bookkeeper.moved].map(([key, { amount }]) => `${key} ${amount}`).toSorted(),
    entries: entries.length,
    expectedEntries: storm.writes + 1,
    uneven,
    open,
    differing: wrong,
    seconds,
    repeats,
  }
}
