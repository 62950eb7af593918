// The server notifies every account of an edited plan: once of each edit, in their order, however often the
// server is killed.
import { once } from 'node:events'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { createChance, seed } from '../fuzz/chance.ts'
import { eventually } from '../support/run/eventually.ts'
import { describeEngines, makePlace, type Place } from '../support/servers/databases.ts'
import { type ServerProcess, startServerProcess } from '../support/servers/server-process.ts'
import { freeRequests, openSession, type Session } from '../support/world/session.ts'

// More than two pages of the accounts that one commit notifies.
const holders = 120
const rates = [2, 3, 4, 5]

describeEngines('an edited plan', (engine) => {
  let place: Place

  beforeEach(async () => {
    place = await makePlace(engine, { isUpgraded: engine === 'postgres' })
  })

  afterEach(() => place.remove())

  const start = () => startServerProcess({ CROSSPOINT_DATABASE_URL: place.databaseUrl }, place.dataDir)

  const plan = (rate: number) => ({ name: 'Phones', plan: { devices: { sip_device: { rate } } } })

  const makeHolders = async ({ admin, masterId }: Session, planId: string) => {
    const made = Array.from({ length: holders }, async (_, at) => {
      const path = `/v2/accounts/${masterId}`
      const { data } = await admin.put(path, { name: `Holder ${at}`, realm: `h${at}.repriced.test` })
      const account = `/v2/accounts/${data.id}`
      await admin.post(`${account}/services`, { add: [planId] })
      const counted = await admin.post(`${account}/services/manual`, { devices: { sip_device: 1 } })
      expect(counted.status, counted.text).toBe(200)
      return account
    })
    return Promise.all(made)
  }

  const kill = async (server: ServerProcess, session: Session) => {
    server.process.kill('SIGKILL')
    await once(server.process, 'exit')
    session.close()
  }

  /** The notifications about an account's plan: its new price a month. */
  const toldOf = async ({ admin }: Session, account: string) => {
    const { data } = await admin.get(`${account}/services/audit?ascending=true`)
    const entries = data as { type: string[]; summary: { recurring: number } }[]
    return entries.filter(({ type }) => type.includes('plan')).map(({ summary }) => summary.recurring)
  }

  it('is reported once to each account that has it, through kill -9', async () => {
    const { below } = createChance(seed)
    let server = await start()
    let session = await openSession(server)
    await freeRequests(session)
    const { data } = await session.admin.put(`/v2/accounts/${session.masterId}/service_plans`, plan(1))
    const path = `/v2/accounts/${session.masterId}/service_plans/${data.id}`
    const accounts = await makeHolders(session, data.id)
    for (const rate of rates) {
      const edited = await session.admin.post(path, plan(rate))
      expect(edited.status, edited.text).toBe(200)
      // Somewhere among the first pages.
      await eventually(
        async () => (await toldOf(session, accounts[0] as string)).length,
        (told) => below(3) === 0 || told > 0,
      )
      await kill(server, session)
      server = await start()
      session = await openSession(server, session)
    }
    await eventually(
      () => toldOf(session, accounts.at(-1) as string),
      (told) => told.length >= rates.length,
    )
    await eventually(
      async () => (await Promise.all(accounts.map((account) => toldOf(session, account)))).flat().length,
      (told) => told >= rates.length * holders,
    )
    for (const account of accounts) expect(await toldOf(session, account)).toEqual(rates)
    session.close()
    expect(await server.end()).toBe(0)
  })
})
