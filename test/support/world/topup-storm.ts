// Many top-ups with keys at once, while the store fails under them: each client insists until it has its answer.
import { setTimeout as pause } from 'node:timers/promises'
import type { entryJson } from '../../../src/areas/billing/ledgers/rules.ts'
import type { BookkeeperServer } from '../servers/bookkeeper-server.ts'
import type { Answer } from './client.ts'
import type { TestAccount, World } from './world.ts'

export interface TopupStorm {
  world: World
  bookkeeper: BookkeeperServer
  topups: number
  clients: number
  /** From here until what it returns is called, the store fails. */
  begin(): Promise<() => Promise<void>>
}

interface Wish {
  key: string
  account: TestAccount
  /** Units. */
  amount: number
}

interface Granted extends Wish {
  answer: Answer
  /** How long after the first failure the true answer came. */
  waitedMs: number
}

export interface Calm {
  /** Answers that were neither the true one nor a request to ask again. */
  strange: string[]
  /** Answers to the same keys that differ afterwards. */
  differing: string[]
  /** For each account the entries of its ledger, and the answers to its clients. */
  booked: string[][]
  told: string[][]
  /** At the bookkeeper, by transaction. */
  moved: string[]
  toldMoved: string[]
  balances: number[]
  expectedBalances: number[]
  keysUnderWay: number
  slowestMs: number
  failures: number
  seconds: number
}

const entriesOf = async (world: World, { id }: TestAccount) =>
  world.server.store.all<{ id: string; amount: number }>(
    `SELECT id, amount FROM ledger_entries WHERE account_id = $1 AND source_service = 'payments'`,
    [id],
  )

const textOf = ({ data }: Answer) => {
  const { id, amount } = data.ledger as ReturnType<typeof entryJson>
  return `${id} ${Math.round(amount * 10_000)}`
}

/**
 * Ask again: the store was away, or the bookkeeper has not answered yet. No client sends a key twice at once,
 * so none is in progress.
 */
const isPassing = ({ status }: Answer) => status >= 500 || status === 202

export const stormTopups = async (storm: TopupStorm): Promise<Calm> => {
  const { world, bookkeeper, topups, clients, begin } = storm
  const accounts = [await world.account(world.reseller), await world.account(world.reseller)]
  const [, charged] = accounts as [TestAccount, TestAccount]
  await world.ross.post(`${charged.path}/services`, { bookkeeper: { type: 'http' } })
  const waiting = Array.from(
    { length: topups },
    (_, index): Wish => ({
      key: `wish-${index}`,
      account: accounts[index % accounts.length] as TestAccount,
      amount: 100 * (index + 1),
    }),
  )
  const client = world.unchecked(world.ross)
  const granted: Granted[] = []
  const strange: string[] = []
  let failures = 0

  const send = ({ key, account, amount }: Wish) =>
    client.post(
      `${account.path}/services/topup`,
      { amount: amount / 10_000 },
      { headers: { 'idempotency-key': key } },
    )

  const insist = async (wish: Wish): Promise<Granted> => {
    let failedAt: number | undefined
    for (;;) {
      const answer = await send(wish)
      if (answer.status === 200)
        return { ...wish, answer, waitedMs: failedAt === undefined ? 0 : performance.now() - failedAt }
      if (!isPassing(answer)) strange.push(answer.text)
      failures += 1
      failedAt ??= performance.now()
      await pause(50)
    }
  }

  const work = async () => {
    for (let wish = waiting.shift(); wish; wish = waiting.shift()) granted.push(await insist(wish))
  }

  const begun = performance.now()
  const end = await begin()
  await Promise.all(Array.from({ length: clients }, work))
  await end()
  const seconds = (performance.now() - begun) / 1000

  const differing: string[] = []
  for (const { answer, ...wish } of granted) {
    const again = (await insist(wish)).answer
    if (again.text !== answer.text) differing.push(`${answer.text}\n${again.text}`)
  }
  const booked = await Promise.all(accounts.map((account) => entriesOf(world, account)))
  const grantedTo = (account: TestAccount) => granted.filter((wish) => wish.account === account)
  const balances = await Promise.all(
    accounts.map(async ({ path }) =>
      Math.round((await world.ross.get(`${path}/ledgers/total`)).data.amount * 10_000),
    ),
  )
  const [underWay] = await world.server.store.all<{ keys: number }>(
    'SELECT count(*) AS keys FROM idempotency_keys WHERE answer IS NULL',
  )
  return {
    strange,
    differing,
    booked: booked.map((entries) => entries.map(({ id, amount }) => `${id} ${amount}`).toSorted()),
    told: accounts.map((account) =>
      grantedTo(account)
        .map(({ answer }) => textOf(answer))
        .toSorted(),
    ),
    moved: [...bookkeeper.moved].map(([key, { amount }]) => `${key} ${amount}`).toSorted(),
    toldMoved: grantedTo(charged)
      .map(({ answer, amount }) => `${charged.id}/${answer.data.transaction.id} ${amount}`)
      .toSorted(),
    balances,
    expectedBalances: accounts.map((account) =>
      grantedTo(account).reduce((sum, { amount }) => sum + amount, 0),
    ),
    keysUnderWay: Number(underWay?.keys),
    slowestMs: Math.max(...granted.map(({ waitedMs }) => waitedMs)),
    failures,
    seconds,
  }
}
