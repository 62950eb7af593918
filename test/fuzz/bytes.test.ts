// Invalid and almost valid HTTP. CROSSPOINT_TEST_SEED repeats a run.
import { once } from 'node:events'
import { connect } from 'node:net'
import { describe, expect, it } from 'vitest'
import { countOf } from '../support/run/run-length.ts'
import { useWorld } from '../support/world/world.ts'
import { type Chance, createChance, seed } from './chance.ts'

const attempts = countOf(500, 1500)
const atOnce = 24

const startLines = [
  'GET / HTTP/1.1',
  'GET /v2/accounts HTTP/1.1',
  'PUT /v2/user_auth HTTP/1.1',
  'POST /v2/accounts HTTP/1.0',
  'GET http://elsewhere.test/v2/about HTTP/1.1',
  'CONNECT elsewhere.test:443 HTTP/1.1',
  'OPTIONS * HTTP/1.1',
  'GET /v2/about HTTP/9.9',
  'GET /v2/about',
  'get /v2/about HTTP/1.1',
  'PRI * HTTP/2.0',
  'G\0T / HTTP/1.1',
  `GET /${'a'.repeat(20_000)} HTTP/1.1`,
]

const headerLines = [
  'host: localhost',
  'content-length: 5',
  'content-length: -1',
  'content-length: 99999999999999999999',
  'content-length: 5, 6',
  'transfer-encoding: chunked',
  'transfer-encoding: chunked, gzip',
  'transfer-encoding: \x0bchunked',
  'expect: 100-continue',
  'expect: nothing',
  'upgrade: websocket\r\nconnection: upgrade',
  'connection: close',
  'content-type: application/json',
  'x-auth-token: a b c',
  ' folded: line',
  'no colon',
  ': empty',
  'bad\0name: x',
  `x-long: ${'y'.repeat(17_000)}`,
]

const bodies = [
  '',
  'hello',
  '{"data":{}}',
  '5\r\nhello\r\n0\r\n\r\n',
  'zz\r\nhello',
  'ffffffffffffffff\r\n',
  '0\r\n\r\n',
]

const mutate = (chance: Chance, bytes: Buffer) => {
  for (let times = chance.below(4); times > 0 && bytes.length > 0; times -= 1) {
    bytes[chance.below(bytes.length)] = chance.below(256)
  }
  return chance.once(4) ? bytes.subarray(0, chance.below(bytes.length + 1)) : bytes
}

const makeBytes = (chance: Chance): Buffer => {
  if (chance.once(4)) return chance.bytes(chance.below(600))
  const lines = [chance.pick(startLines), ...chance.many(5, () => chance.pick(headerLines))]
  return mutate(chance, Buffer.from(`${lines.join('\r\n')}\r\n\r\n${chance.pick(bodies)}`, 'latin1'))
}

/** Sends bytes, ends the sending side, and reads what comes back until the server closes. */
const exchange = async (port: number, bytes: Buffer) => {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  let answer = ''
  socket.setEncoding('latin1').on('data', (text) => {
    answer += text
  })
  socket.on('error', () => socket.destroy())
  await once(socket, 'connect')
  socket.end(bytes)
  await once(socket, 'close')
  return answer
}

/** The body of the first answer. */
const bodyOf = (answer: string) => {
  const begin = answer.indexOf('\r\n\r\n') + 4
  const length = Number(/^content-length: (\d+)/im.exec(answer.slice(0, begin))?.[1] ?? 0)
  return answer.slice(begin, begin + length)
}

describe('random bytes', () => {
  const world = useWorld('sqlite')

  it('get a 4xx in the envelope or a closed connection', async () => {
    const chance = createChance(seed)
    const rest = Array.from({ length: attempts }, () => makeBytes(chance)).values()
    const statuses = new Map<string, number>()
    const sender = async () => {
      for (const bytes of rest) {
        const answer = await exchange(world.server.port, bytes)
        const status = answer.slice(9, 12)
        statuses.set(status, (statuses.get(status) ?? 0) + 1)
        const story = `seed ${seed}: ${JSON.stringify(bytes.toString('latin1').slice(0, 500))}\n${answer.slice(0, 1500)}`
        if (answer !== '') expect(answer, story).toMatch(/^HTTP\/1\.1 ([1234]\d\d) /)
        if (/^4/.test(status)) {
          expect(answer.toLowerCase(), story).toContain('access-control-allow-origin: *')
          expect(answer.toLowerCase(), story).toMatch(/x-request-id: \S/)
        }
        if (status === '400')
          expect(JSON.parse(bodyOf(answer) || '{"status":"error"}').status, story).toBe('error')
      }
    }
    await Promise.all(Array.from({ length: atOnce }, sender))
    expect(statuses.get('400')).toBeGreaterThan(attempts / 5)
    expect((await world.operator.get(world.master.path)).status).toBe(200)
  })

  it.each<[string, string, string]>([
    ['two hosts', 'host: a.test\r\nhost: b.test', '400'],
    ['the same host twice', 'host: a.test\r\nHost: a.test', '400'],
    ['a path after the host', 'host: a.test/x', '400'],
    ['a user before the host', 'host: me@a.test', '400'],
    ['a space in the host', 'host: a test', '400'],
    ['an incomplete address', 'host: [::1', '400'],
    ['an invalid port', 'host: a.test:x', '400'],
    ['a port that is too large', 'host: a.test:65536', '400'],
    ['two hosts in one header', 'host: a.test,b.test', '400'],
    ['a host and a port', 'host: a.test:8000', '200'],
    ['an address and a port', 'host: [::1]:8000', '200'],
    ['a host with an underscore', 'host: a_b.test', '200'],
    ['an empty host', 'host:', '200'],
  ])('with %s get one response', async (_title, hosts, status) => {
    const bytes = Buffer.from(`GET /v2/schemas HTTP/1.1\r\n${hosts}\r\nconnection: close\r\n\r\n`)
    const answer = await exchange(world.server.port, bytes)
    expect(answer.match(/HTTP\/1\.1 /g)).toHaveLength(1)
    expect(answer.slice(9, 12)).toBe(status)
  })

  it('of a giant body are refused without being read', async () => {
    const path = `${world.acme.path}/users`
    const headers = `host: x\r\nx-auth-token: ${world.ada.token}\r\ncontent-type: application/json\r\n`
    const announced = await exchange(
      world.server.port,
      Buffer.from(`PUT ${path} HTTP/1.1\r\n${headers}content-length: 9000000000\r\n\r\n{"data":`),
    )
    expect(announced).toMatch(/^HTTP\/1\.1 413 /)
    const chunk = `100000\r\n${'x'.repeat(0x10_00_00)}\r\n`
    const streamed = await exchange(
      world.server.port,
      Buffer.from(`PUT ${path} HTTP/1.1\r\n${headers}transfer-encoding: chunked\r\n\r\n${chunk.repeat(12)}`),
    )
    expect(streamed).toMatch(/^HTTP\/1\.1 413 /)
    const large = await world.ada.put(path, { first_name: 'A', last_name: 'B', note: 'x'.repeat(9_000_000) })
    expect(large.status).toBe(413)
    expect((await world.ada.get(path)).status).toBe(200)
  })

  it('of many half requests leave room for whole ones', async () => {
    const halves = Array.from({ length: 200 }, () => connect({ port: world.server.port, host: '127.0.0.1' }))
    for (const socket of halves) {
      socket.on('error', () => undefined)
      socket.write('PUT /v2/user_auth HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{"data"')
    }
    expect((await world.operator.get(world.master.path)).status).toBe(200)
    await Promise.all(
      halves.map((socket) => {
        const closed = once(socket, 'close')
        socket.destroy()
        return closed
      }),
    )
    // The server notices their end before it receives this request, and logs no error.
    expect((await world.operator.get(world.master.path)).status).toBe(200)
    expect(world.logEntries).toEqual([])
  })
})
