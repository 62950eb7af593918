import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { countOf } from '../support/run/run-length.ts'
import { type Pair, pairs } from '../support/world/pair.ts'
import { freeRequests, openSessionThrough, type Session } from '../support/world/session.ts'
import { credentialsOf } from '../support/world/world.ts'

const rounds = countOf(8, 150)
const some = countOf(6, 60)
const few = countOf(4, 30)

describe.each(pairs)('%s', (_kind, startPair) => {
  let pair: Pair
  let here: Session
  let there: Session
  let accountPath: string

  beforeAll(async () => {
    pair = await startPair({})
    here = await openSessionThrough(pair.transports[0])
    await freeRequests(here)
    there = await openSessionThrough(pair.transports[1], here)
    const made = await here.admin.put('/v2/accounts', { name: 'Shared', realm: 'shared.test' })
    accountPath = `/v2/accounts/${made.data.id}`
  })

  afterAll(async () => {
    await pair.end()
  })

  afterEach(() => expect(pair.servers.flatMap((server) => server.faults())).toEqual([]))

  /** The two sessions, the writing one first: they take turns. */
  const turns = () =>
    Array.from({ length: rounds }, (_, round) => ({
      round,
      writer: round % 2 === 0 ? here : there,
      reader: round % 2 === 0 ? there : here,
    }))

  const makeUser = async (username: string) => {
    const data = { first_name: 'A', last_name: 'B', username, password: 'secret' }
    const { id } = (await here.admin.put(`${accountPath}/users`, data)).data
    return { id, path: `${accountPath}/users/${id}` }
  }

  const tokenOf = async (username: string) => {
    const credentials = credentialsOf(username, 'secret')
    const answer = await here.admin.put('/v2/user_auth', { credentials, account_realm: 'shared.test' })
    return answer.body.auth_token as string
  }

  it('show a changed account at once, however often it was read before', async () => {
    for (const { round, writer, reader } of turns()) {
      await reader.admin.get(accountPath)
      const written = await writer.admin.patch(accountPath, { name: `Shared ${round}` })
      expect(written.status).toBe(200)
      const read = await reader.admin.get(accountPath)
      expect(read.data.name).toBe(`Shared ${round}`)
      expect(read.body.revision).toBe(written.body.revision)
    }
  })

  it('show it to many readers while it changes', async () => {
    for (let round = 0; round < few; round += 1) {
      const reading = Array.from({ length: 10 }, () => there.admin.get(accountPath))
      await here.admin.patch(accountPath, { name: `Busy ${round}` })
      const after = await Promise.all(Array.from({ length: 10 }, () => there.admin.get(accountPath)))
      await Promise.all(reading)
      expect(new Set(after.map(({ data }) => data.name))).toEqual(new Set([`Busy ${round}`]))
    }
  })

  it('show what was created, and that it is gone', async () => {
    for (const { round, writer, reader } of turns().slice(0, some)) {
      const made = await writer.admin.put(`${accountPath}/devices`, { name: `Phone ${round}` })
      const path = `${accountPath}/devices/${made.data.id}`
      expect((await reader.admin.get(path)).status).toBe(200)
      expect((await writer.admin.delete(path)).status).toBe(200)
      expect((await reader.admin.get(path)).status).toBe(404)
    }
  })

  it('carry out all parallel changes of one record, whichever of them is asked', async () => {
    const { path } = await makeUser('parallel')
    const fields = Array.from({ length: 40 }, (_, index) => `field_${index}`)
    const changes = fields.map((field, index) => (index % 2 ? here : there).admin.patch(path, { [field]: 1 }))
    expect(new Set((await Promise.all(changes)).map(({ status }) => status))).toEqual(new Set([200]))
    const { data } = await here.admin.get(path)
    expect(data).toMatchObject(Object.fromEntries(fields.map((field) => [field, 1])))
  })

  it('end the sessions of a disabled user', async () => {
    const { id, path } = await makeUser('disabled')
    const token = await tokenOf('disabled')
    for (const { writer, reader } of turns().slice(0, few)) {
      const own = reader.as(token)
      expect((await own.get(`${accountPath}/users/${id}`)).status).toBe(200)
      await writer.admin.patch(path, { enabled: false })
      expect((await own.get(path)).status).toBe(401)
      await writer.admin.patch(path, { enabled: true })
    }
  })

  it('refuse a token that the other one was asked to end', async () => {
    const { path } = await makeUser('leaving')
    for (const { writer, reader } of turns().slice(0, 6)) {
      const token = await tokenOf('leaving')
      expect((await reader.as(token).get(path)).status).toBe(200)
      expect((await writer.as(token).delete('/v2/token_auth')).status).toBe(200)
      expect((await reader.as(token).get(path)).status).toBe(401)
    }
  })

  it('follow a changed setting', async () => {
    for (const { round, writer, reader } of turns().slice(0, some)) {
      const size = 1 + (round % 7)
      const section = { pagination_page_size: size }
      expect((await writer.admin.patch('/v2/system_configs/crossbar', { default: section })).status).toBe(200)
      const read = await reader.admin.get('/v2/system_configs/crossbar')
      expect(read.data.default.pagination_page_size).toBe(size)
      expect((await reader.admin.get(`${accountPath}/users`)).body.page_size).toBeLessThanOrEqual(size)
    }
  })

  it('refuse an API key once the other one has made a new key', async () => {
    let { api_key: key } = (await here.admin.get(`${accountPath}/api_key`)).data
    for (const { writer, reader } of turns().slice(0, few)) {
      expect((await reader.admin.put('/v2/api_auth', { api_key: key })).status).toBe(201)
      const fresh = (await writer.admin.put(`${accountPath}/api_key`)).data.api_key
      expect((await reader.admin.put('/v2/api_auth', { api_key: key })).status).not.toBe(201)
      expect((await reader.admin.put('/v2/api_auth', { api_key: fresh })).status).toBe(201)
      key = fresh
    }
  })

  it('let one of two have a name that both are asked for at the same time', async () => {
    for (let round = 0; round < few; round += 1) {
      const data = { first_name: 'A', last_name: 'B', username: `racer${round}` }
      const answers = await Promise.all(
        [here, there, here, there].map(({ admin }) => admin.put(`${accountPath}/users`, data)),
      )
      expect(answers.map(({ status }) => status).toSorted()).toEqual([201, 400, 400, 400])
    }
  })
})
