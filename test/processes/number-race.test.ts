// One number belongs to one owner at any time, whichever processes are asked for it.
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { countOf } from '../support/run/run-length.ts'
import { describeAnyEngine, makePlace, type Place } from '../support/servers/databases.ts'
import { type ServerProcess, startServerProcess } from '../support/servers/server-process.ts'
import type { Answer } from '../support/world/client.ts'
import { createNumberSource } from '../support/world/numbers.ts'
import { freeRequests, openSession, type Session } from '../support/world/session.ts'

const rounds = countOf(8, 25)

describeAnyEngine('two processes that are asked for one number', (engine) => {
  let place: Place
  let servers: [ServerProcess, ServerProcess]
  let here: Session
  let there: Session
  const next = createNumberSource()

  beforeAll(async () => {
    place = await makePlace(engine, { isUpgraded: engine === 'postgres' })
    const environment = { CROSSPOINT_DATABASE_URL: place.databaseUrl }
    const first = await startServerProcess(environment, place.dataDir)
    servers = [first, await startServerProcess(environment, place.dataDir)]
    here = await openSession(servers[0])
    await freeRequests(here)
    there = await openSession(servers[1], here)
  })

  afterAll(async () => {
    here.close()
    there.close()
    await Promise.all(servers.map((server) => server.end()))
    await place.remove()
  })

  afterEach(() => expect(servers.map((server) => server.faults())).toEqual([[], []]))

  interface Rival {
    id: string
    session: Session
    token: string
  }

  let named = 0

  /** An account with a separate token, at one of the servers. */
  const rival = async (session: Session): Promise<Rival> => {
    named += 1
    const made = await here.admin.put('/v2/accounts', { name: `Rival ${named}`, realm: `rival${named}.test` })
    const { id } = made.data
    const { api_key } = (await here.admin.get(`/v2/accounts/${id}/api_key`)).data
    const token = (await here.admin.put('/v2/api_auth', { api_key })).body.auth_token as string
    return { id, session, token }
  }

  const pathOf = (id: string, number: string) =>
    `/v2/accounts/${id}/phone_numbers/${encodeURIComponent(number)}`

  const activate = ({ id, session, token }: Rival, number: string) =>
    session.as(token).put(`${pathOf(id, number)}/activate`)

  const holdersOf = async (rivals: readonly Rival[], number: string) => {
    const answers = await Promise.all(
      rivals.map(({ id, session, token }) => session.as(token).get(pathOf(id, number))),
    )
    return rivals.filter((_, index) => answers[index]?.status === 200).map(({ id }) => id)
  }

  const expectOneWinner = async (rivals: readonly Rival[], answers: readonly Answer[], number: string) => {
    const winners = rivals.filter((_, index) => answers[index]?.status === 201)
    expect(winners, answers.map(({ text }) => text).join('\n')).toHaveLength(1)
    const losers = answers.filter(({ status }) => status !== 201)
    for (const { status } of losers) expect([403, 409]).toContain(status)
    expect(await holdersOf(rivals, number)).toEqual([winners[0]?.id])
  }

  it('give an available number to one of several accounts', async () => {
    const rivals = [await rival(here), await rival(there), await rival(here), await rival(there)]
    for (let round = 0; round < rounds; round += 1) {
      const number = next()
      await here.admin.put(pathOf(here.masterId, number), { create_with_state: 'available' })
      const answers = await Promise.all(rivals.map((one) => activate(one, number)))
      await expectOneWinner(rivals, answers, number)
    }
  })

  it('create a new number once', async () => {
    const rivals = [await rival(here), await rival(there)]
    for (const { id } of rivals) await here.admin.patch(`/v2/accounts/${id}`, { wnm_allow_additions: true })
    for (let round = 0; round < rounds; round += 1) {
      const number = next()
      const answers = await Promise.all(
        rivals.map(({ id, session, token }) => session.as(token).put(pathOf(id, number))),
      )
      await expectOneWinner(rivals, answers, number)
    }
  })

  it('never leave a number with an account that is deleted at the same time', async () => {
    const heir = await rival(here)
    for (let round = 0; round < rounds; round += 1) {
      const leaving = await rival(there)
      const number = next()
      await here.admin.put(pathOf(here.masterId, number), {
        create_with_state: 'available',
        carrier_name: 'inventory',
      })
      const [taken, gone] = await Promise.all([
        activate(leaving, number),
        here.admin.delete(`/v2/accounts/${leaving.id}`),
      ])
      expect(gone.status, gone.text).toBe(200)
      expect([201, 401, 403, 404, 409], taken.text).toContain(taken.status)
      const again = await activate(heir, number)
      expect(again.status, again.text).toBe(201)
    }
  })
})
