// Two APIs that should respond alike: a server, and the same server behind a proxy that changes its responses.
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Json } from '../../src/lib/json.ts'
import { openCommandLine } from '../support/run/command-line.ts'
import { describeAnyEngine, makePlace, type Place } from '../support/servers/databases.ts'
import { type ServerProcess, startServerProcess } from '../support/servers/server-process.ts'
import { freeRequests, openSession, type Session } from '../support/world/session.ts'

type Change = (path: string, body: Json) => Json | { status: number }

/** A proxy that acts as the other system: it forwards requests to the server and changes the responses. */
const startOther = async (server: ServerProcess) => {
  const state = { change: ((_path, body) => body) as Change }
  const http = createServer(async (request, response) => {
    const body = request.method === 'GET' ? undefined : await text(request)
    const headers = Object.fromEntries(
      Object.entries(request.headers).filter(([name]) => /^(?:x-auth-token|content-type)$/.test(name)),
    ) as Record<string, string>
    const answer = await fetch(`${server.url}${request.url}`, {
      method: request.method ?? 'GET',
      headers,
      body: body ?? null,
    })
    const path = (request.url ?? '').split('?', 1)[0] ?? ''
    const changed = state.change(path, (await answer.json()) as Json)
    const isRefusal = typeof changed.status === 'number'
    response.writeHead(isRefusal ? Number(changed.status) : answer.status, {
      'content-type': 'application/json',
    })
    response.end(JSON.stringify(isRefusal ? { status: 'error', data: {} } : changed))
  })
  await once(http.listen(0, '127.0.0.1'), 'listening')
  return {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}`,
    set change(change: Change) {
      state.change = change
    },
    async close() {
      http.close()
      http.closeAllConnections()
    },
  }
}

describeAnyEngine('crosspoint compare kazoo', (engine) => {
  let place: Place
  let server: ServerProcess
  let session: Session
  let other: Awaited<ReturnType<typeof startOther>>
  let account: string
  const person = openCommandLine()

  beforeAll(async () => {
    place = await makePlace(engine, { isUpgraded: engine === 'postgres' })
    server = await startServerProcess({ CROSSPOINT_DATABASE_URL: place.databaseUrl }, place.dataDir)
    session = await openSession(server)
    await freeRequests(session)
    other = await startOther(server)
    const { admin } = session
    account = (await admin.put('/v2/accounts', { name: 'Acme', realm: 'acme.test' })).data.id
    for (const name of ['Ada', 'Bea', 'Cid'])
      await admin.put(`/v2/accounts/${account}/users`, {
        first_name: name,
        last_name: 'Smith',
        username: name.toLowerCase(),
      })
    await admin.put(`/v2/accounts/${account}/devices`, {
      name: 'Phone',
      sip: { username: 'phone', password: 'a-secret-1' },
    })
  })

  afterAll(async () => {
    session.close()
    await other.close()
    await server.end()
    person.remove()
    await place.remove()
  })

  const compare = (...args: string[]) =>
    person.hereWith(
      'secret\n',
      ...[
        'compare',
        'kazoo',
        other.url,
        '--server',
        server.url,
        '--account',
        'master',
        '--username',
        'admin',
        ...args,
      ],
    )

  it('says so when both say the same, of all accounts', async () => {
    other.change = (_path, body) => body
    const { status, output } = await compare('--sample', 'all')
    expect(status).toBe(0)
    expect(output).toContain('2 of 2 accounts')
    expect(output).toMatch(/, 0 different\.$/m)
  })

  it('reports fields, missing rows, another order, another balance and another refusal', async () => {
    other.change = (path, body) => {
      const data = body.data as Json & { id?: string }
      if (path === `/v2/accounts/${account}`) return { ...body, data: { ...data, realm: 'other.test' } }
      if (path.endsWith(`${account}/users`)) {
        const rows = body.data as Json[]
        return { ...body, data: [...rows.toReversed(), { id: 'f'.repeat(32), first_name: 'Dan' }] }
      }
      if (path.endsWith(`${account}/devices`)) return { ...body, data: [] }
      if (path.endsWith(`${account}/ledgers/total`)) return { ...body, data: { amount: 0.0001 } }
      return path.endsWith(`${account}/whitelabel`) ? { status: 500 } : body
    }
    const { status, output } = await compare('--json')
    expect(status).toBe(2)
    const { differences, accounts } = JSON.parse(output)
    expect(accounts).toBe(2)
    const of = (question: string) =>
      differences
        .filter((one: Json) => one.account_id === account && one.question === question)
        .map(({ account_id: _, question: __, ...told }: Json) => told)
    expect(of('account')).toEqual([{ what: 'realm', there: 'other.test', here: 'acme.test' }])
    expect(of('balance')).toEqual([{ what: 'amount', there: 0.0001, here: 0 }])
    expect(of('whitelabel')).toEqual([{ what: 'status', there: 500, here: 404 }])
    expect(of('users').map(({ what }: Json) => what)).toEqual(expect.arrayContaining(['missing', 'order']))
    expect(of('devices')).toEqual([{ id: expect.stringMatching(/^[0-9a-f]{32}$/), what: 'extra' }])
    expect(output).not.toContain('a-secret-1')
  })

  it('refuses systems that are not the same', async () => {
    other.change = (path, body) =>
      path === '/v2/user_auth'
        ? { ...body, data: { ...(body.data as Json), account_id: 'a'.repeat(32) } }
        : body
    const { status, errors } = await compare()
    expect(status).toBe(1)
    expect(errors).toContain('compare Kazoo with a server that has imported its data')
  })
})
