// Log lines of a busy server, and secrets that must never appear in them.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { removeDataDir, type ServerProcess, startServerProcess } from '../support/servers/server-process.ts'
import { basicHeader, Client, createTransport, type Transport } from '../support/world/client.ts'
import { freeRequests, openSession, type Session } from '../support/world/session.ts'
import { credentialsOf } from '../support/world/world.ts'

const password = 'the-first-password-of-all'
const secrets = new Set<string>([password, credentialsOf('admin', password)])

const secret = (text: string) => {
  secrets.add(text)
  return text
}

let server: ServerProcess
let session: Session
let transport: Transport

beforeAll(async () => {
  server = await startServerProcess({
    CROSSPOINT_DATABASE_URL: undefined,
    CROSSPOINT_ADMIN_PASSWORD: password,
    CROSSPOINT_LOG_LEVEL: 'debug',
  })
  session = await openSession(server, undefined, password)
  transport = createTransport(server.port)
  await freeRequests(session)
})

afterAll(async () => {
  transport.close()
  session.close()
  await server.end()
  removeDataDir(server)
})

const beBusy = async () => {
  const { admin, masterId } = session
  const anyone = new Client(transport.send)
  secrets.add(session.token)
  const account = `/v2/accounts/${masterId}`
  await admin.put(`${account}/users`, {
    first_name: 'Some',
    last_name: 'Body',
    username: 'somebody',
    email: 'somebody@example.com',
    password: secret('a-password-of-somebody'),
  })
  const credentials = secret(credentialsOf('somebody', 'a-password-of-somebody'))
  const signedIn = await anyone.put('/v2/user_auth', { credentials, account_name: 'master' })
  secrets.add(signedIn.body.auth_token ?? '')
  const guess = secret(credentialsOf('somebody', 'wrong-guess'))
  await anyone.put('/v2/user_auth', { credentials: guess, account_name: 'master' })
  const key = await admin.get(`${account}/api_key`)
  const apiKey = secret(key.data.api_key)
  await anyone.put('/v2/api_auth', { api_key: apiKey })
  const named = await admin.put(`${account}/api_keys`, { name: 'One', scopes: ['*'] })
  const bearer = secret(named.data.key)
  await new Client(transport.send, { authorization: `Bearer ${bearer}` }).get(account)
  await new Client(transport.send, basicHeader(masterId, secret('9'.repeat(32)))).get(account)
  await anyone.get(`${account}?auth_token=${secret('a-token-in-a-query')}`)
  await anyone.put('/v2/user_auth/recovery', {
    username: 'somebody',
    account_name: 'master',
    ui_url: 'http://127.0.0.1/',
  })
  await anyone.post(`/v2/user_auth/recovery`, { reset_id: secret('c'.repeat(64)) })
  await anyone.get(`/?recovery=${secret('d'.repeat(64))}`)
  await admin.put(`${account}/devices`, {
    name: 'Phone',
    sip: { username: 'phone', password: secret('a-sip-password-1') },
  })
  await admin.put(`${account}/webhooks`, {
    name: 'Hook',
    uri: `http://hook:${secret('in-an-address')}@127.0.0.1:9/`,
    hook: 'all',
    custom_request_headers: { 'x-key': secret('a-header-of-a-hook') },
  })
  const ingest = await admin.get('/v2/system_configs/ingest')
  const opener = secret(ingest.data.default.freeswitch_secret)
  await anyone.post(`/ingest/freeswitch/${opener}`, { nonsense: true })
  await anyone.post(`/ingest/freeswitch/${secret('wrong-secret-of-a-switch')}`, {})
  await anyone.get(`/v2/${secret('a-token-as-a-path')}`)
}

describe('the log of a busy server', () => {
  it('holds lines of JSON with the fields that they all have, and no secret', async () => {
    await beBusy()
    const last = await session.admin.get('/v2/about')
    await expect.poll(() => server.errors()).toContain(last.body.request_id)
    const lines = server
      .errors()
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    for (const line of lines)
      expect(line).toMatchObject({
        time: expect.any(String),
        level: expect.any(String),
        message: expect.any(String),
      })
    const requests = lines.filter(({ message }) => message === 'request')
    expect(requests.length).toBeGreaterThan(15)
    for (const line of requests) {
      const { request_id, trace_id, route, status, duration_ms, client_address } = line
      expect([request_id, trace_id, route].map((value) => typeof value)).toEqual(Array(3).fill('string'))
      expect([status, duration_ms].map((value) => typeof value)).toEqual(Array(2).fill('number'))
      expect(client_address).toBe('127.0.0.1')
      if (status >= 400 && route.startsWith('/v2')) expect(line.reason).toEqual(expect.any(String))
    }
    expect(lines.map(({ message }) => message)).toContain('sign-in refused')
    const found = [...secrets].filter((text) => server.errors().includes(text))
    expect(secrets.size).toBeGreaterThan(15)
    expect(found).toEqual([])
  })

  it('has no lines of requests where they are switched off', async () => {
    const quiet = await startServerProcess({
      CROSSPOINT_DATABASE_URL: undefined,
      CROSSPOINT_ACCESS_LOG: 'off',
    })
    const own = await openSession(quiet)
    await own.admin.get('/v2/nowhere')
    own.close()
    expect(await quiet.end()).toBe(0)
    expect(quiet.errors()).not.toContain('"message":"request"')
    removeDataDir(quiet)
  })
})
